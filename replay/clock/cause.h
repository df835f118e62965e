/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the causes of the times of a clock (sim.h). Not thread-safe. Functions return 0 or -ENOMEM
 * unless stated otherwise. */
#pragma once

#include "replay/clock/sim.h"

/* Records the last rank to arrive at each collective, for sim_find_cause(): in the times of the
 * clock (run 0) and of its first n_runs - 1 variants. Call before the first sim_push(). */
int sim_record_causes(struct sim *s, uint32_t n_runs);

/* Returns the wait that determined the time of point `at` of a finished block in the run; sets *ref
 * to the moment that it waited for, if any. NULL: the previous point determined it. */
const struct sim_wait *sim_find_cause(const struct sim *s, uint32_t rank, const struct sim_block *b,
				      uint32_t at, uint32_t run, uint64_t *ref);
