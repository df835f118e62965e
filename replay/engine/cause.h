/* SPDX-License-Identifier: Apache-2.0 */

/* The causes of the times of a clock (sim.h). Not thread-safe; functions return 0 or -ENOMEM
 * unless stated otherwise. */
#pragma once

#include "replay/engine/sim.h"

/* Remembers who arrives last at each collective, for sim_cause(), in the times of the clock (run 0)
 * and in those of its first n_runs - 1 variants. Before the first sim_push(). */
int sim_causes(struct sim *s, uint32_t n_runs);

/* The wait of point `at` of a finished block that determined its time in the run, and in *ref the
 * moment that it waited for, if it was for one. NULL: the point follows the one before it. */
const struct sim_wait *sim_cause(const struct sim *s, uint32_t rank, const struct sim_block *b,
				 uint32_t at, uint32_t run, uint64_t *ref);
