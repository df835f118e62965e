/* SPDX-License-Identifier: Apache-2.0 */

/* The order of calls over the threads of a process: one at a time, in the order in which they
 * returned in the recording. A call of NCCL may also begin while one that returned earlier is in
 * progress, if it can have begun before that one returned: it may be what that one waits for. Any
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum rex_turn_kind {
	REX_TURN_ALONE,	 /* waits for no other call */
	REX_TURN_BLOCKS, /* may wait for a device, and so for calls that meet */
	REX_TURN_MEETS,	 /* a call of NCCL */
	REX_TURN_ENDS,	 /* one that destroys; such calls may wait for each other */
};

/* A call in the recording. */
struct rex_turn {
	uint32_t number; /* in the order in which calls returned */
	uint32_t after;	 /* it began when so many had returned, or later */
	enum rex_turn_kind kind;
};

struct rex_turns;

int rex_turns_new(uint32_t n_threads, struct rex_turns **ret);
void rex_turns_free(struct rex_turns *t);

/* The thread's next call; NULL: it has no more. The call before it has returned. Set the first call
 * of each thread before any begins. */
void rex_turns_next(struct rex_turns *t, uint32_t thread, const struct rex_turn *call);
/* Waits until the thread may begin its next call; false: the run was given up. */
bool rex_turns_begin(struct rex_turns *t, uint32_t thread);
/* Wakes all threads, and lets them give up. */
void rex_turns_give_up(struct rex_turns *t);
