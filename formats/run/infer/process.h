/* SPDX-License-Identifier: Apache-2.0 */

/* The ranks of one process: GPUs that threads share. Their calls are looked at together, in the
 * order in which they were made. Functions return 0 or -ENOMEM. */
#pragma once

#include "formats/run/infer/view.h"

struct infer_process {
	struct infer_view **views; /* owned */
	uint32_t n;		   /* 0: an earlier rank is of the same process */
	uint32_t *at;		   /* owned; by view: calls returned by infer_process_next() */
};

/* The process of that rank, if it is the process's first. */
int infer_process_init(struct infer_process *p, struct infer_view *views, uint32_t n_views,
		       uint32_t rank);
void infer_process_done(struct infer_process *p);

/* Starts again with the first call. */
void infer_process_rewind(const struct infer_process *p);

/* The next call, and in *view the index of its view; INFER_NONE after the last. */
uint32_t infer_process_next(const struct infer_process *p, uint32_t *view);

/* Rule "thread-order": calls of a thread whose call before was for another GPU. */
int infer_thread_order(const struct infer_process *p);
