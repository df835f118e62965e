/* SPDX-License-Identifier: Apache-2.0 */

/* The order of calls over the threads of a process: a call begins when those that the recording
 * says returned before it have returned here. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rex_turns;

int rex_turns_new(uint32_t n_calls, struct rex_turns **ret);
void rex_turns_free(struct rex_turns *t);

/* Waits until the first `n` calls have returned; false: the run was given up. */
bool rex_turns_wait(struct rex_turns *t, uint32_t n);
void rex_turns_returned(struct rex_turns *t, uint32_t call);
/* Wakes all threads, and lets them give up. */
void rex_turns_give_up(struct rex_turns *t);
