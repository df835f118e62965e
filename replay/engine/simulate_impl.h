/* SPDX-License-Identifier: Apache-2.0 */

/* Calls the functions of a source (simulate.h), in a separate thread if the source requests one.
 * That thread loads the next slice of each rank and passes finished slices to taken() while the
 * clock runs. The functions are called one at a time, and in the order of slices for each rank. */
#pragma once

#include "replay/engine/simulate.h"

struct source_thread;

/* Returns 0 or -ENOMEM. If no thread can be started, the caller's thread does all work. */
int source_thread_new(const struct replay_source *source, struct source_thread **ret);

/* Ends the thread and drops its slices. */
void source_thread_free(struct source_thread *t);

/* As next() of the source. */
int source_thread_next(struct source_thread *t, uint32_t rank, struct fmt_slice **ret, int *more,
		       struct fmt_error *err);

/* Passes the times of a finished block to source->taken(), with its slice, the owner of the block.
 * The block stays in use until source_thread_next_done() returns it. 0 or -ENOMEM. */
int source_thread_submit(struct source_thread *t, uint32_t rank, struct sim_block *b);

/* Returns the next block whose slice was passed to taken(); NULL: none yet. With `wait`, NULL means
 * that none is left. */
struct sim_block *source_thread_next_done(struct source_thread *t, int wait);

/* Returns the first error of source->taken(): 0 or a negative errno. */
int source_thread_error(struct source_thread *t, struct fmt_error *err);
