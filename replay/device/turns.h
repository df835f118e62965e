/* SPDX-License-Identifier: Apache-2.0 */

/* Orders the calls of all threads of a process: one at a time, in the order in which they returned
 * in the recording. An NCCL call may also start while a call that returned earlier is in progress,
 * if it can have begun before that call returned: the earlier call may be waiting for it. Any
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum rex_turn_kind {
	REX_TURN_ALONE,	 /* does not wait for other calls */
	REX_TURN_BLOCKS, /* may wait for a device, and so for REX_TURN_MEETS calls */
	REX_TURN_MEETS,	 /* an NCCL call */
	REX_TURN_ENDS,	 /* destroys an object; such calls may wait for each other */
};

/* A recorded call. */
struct rex_turn {
	uint32_t number; /* in the order of returns */
	uint32_t after;	 /* it began after this number of calls had returned, or later */
	enum rex_turn_kind kind;
};

struct rex_turns;

int rex_turns_new(uint32_t n_threads, struct rex_turns **ret);
void rex_turns_free(struct rex_turns *t);

/* Sets the thread's next call, after the previous one has returned; NULL: the thread has no more
 * calls. Set the first call of every thread before any thread begins one. */
void rex_turns_next(struct rex_turns *t, uint32_t thread, const struct rex_turn *call);
/* Waits until the thread may begin its next call. Returns false if the run was aborted. */
bool rex_turns_begin(struct rex_turns *t, uint32_t thread);
/* Aborts the run: wakes all threads. */
void rex_turns_give_up(struct rex_turns *t);
