/* SPDX-License-Identifier: Apache-2.0 */

/* Calls the functions of a source (feed.h), in a thread of its own if the source wants one: then
 * the next slice of each rank is loaded, and finished slices are taken, while the clock runs. The
 * functions of the source are called one at a time, and each rank's in order. */
#pragma once

#include "replay/engine/feed.h"

struct source_thread;

/* 0 or -ENOMEM. If no thread can be started, the caller's does all. */
int source_thread_new(const struct replay_source *source, struct source_thread **ret);

/* Ends the thread, and drops the slices that it holds. */
void source_thread_free(struct source_thread *t);

/* As source->next(). */
int source_thread_next(struct source_thread *t, uint32_t rank, struct fmt_slice **ret, int *more,
		       struct fmt_error *err);

/* Passes the times of a finished block to source->taken(), with its slice, the owner of the block.
 * The block stays in use until source_thread_taken() returns it. 0 or -ENOMEM. */
int source_thread_take(struct source_thread *t, uint32_t rank, struct sim_block *b);

/* The next block of which the slice has been taken; NULL: none so far. With `wait`, none is left
 * after NULL. */
struct sim_block *source_thread_taken(struct source_thread *t, int wait, uint32_t *rank);

/* The first error of source->taken(): 0 or a negative errno. */
int source_thread_error(struct source_thread *t, struct fmt_error *err);
