/* SPDX-License-Identifier: Apache-2.0 */

/* The order of calls over the threads of a process: a call begins when those that returned before
 * it in the recording have returned here. Calls of NCCL wait for each other, so they do not wait
 * for threads that are within one. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rex_turns;

/* How a call begins. */
enum rex_turn {
	REX_TURN_ALONE, /* when all before it have returned */
	REX_TURN_MEETS, /* the same; threads within REX_TURN_MEETS and _ENDS are not waited for */
	REX_TURN_ENDS,	/* the same; threads within REX_TURN_ENDS are not waited for */
};

int rex_turns_new(uint32_t n_calls, uint32_t n_threads, struct rex_turns **ret);
void rex_turns_free(struct rex_turns *t);

/* Call `call` is the next of the thread; n_calls: it has no more. */
void rex_turns_next(struct rex_turns *t, uint32_t thread, uint32_t call);
/* Waits until the thread may begin its next call; false: the run was given up. */
bool rex_turns_begin(struct rex_turns *t, uint32_t thread, enum rex_turn how);
/* Wakes all threads, and lets them give up. */
void rex_turns_give_up(struct rex_turns *t);
