/* SPDX-License-Identifier: Apache-2.0 */

/* The ranks of one process: GPUs that share threads. Iterates over their calls together, in the
 * order in which they were made. Functions return 0 or -ENOMEM. */
#pragma once

#include "formats/run/infer/view.h"

struct infer_process {
	struct infer_view **views; /* owned */
	uint32_t n;		   /* 0: the process was already handled with an earlier rank */
	uint32_t *n_returned;	   /* owned: number of calls returned so far, by view */
};

/* Collects the views of the process of `rank`, if `rank` is the first of its process. */
int infer_process_init(struct infer_process *p, struct infer_view *views, uint32_t n_views,
		       uint32_t rank);
void infer_process_done(struct infer_process *p);

/* Restarts at the first call. */
void infer_process_rewind(const struct infer_process *p);

/* Returns the next call, and the index of its view in *view; INFER_NONE after the last. */
uint32_t infer_process_next(const struct infer_process *p, uint32_t *view);

/* Rule "thread-order": adds edges for calls whose preceding call on the thread was for another
 * GPU. */
int infer_add_thread_order(const struct infer_process *p);
