/* SPDX-License-Identifier: Apache-2.0 */

/* The last ranks to arrive at collectives, for the critical path (path.h). Not thread-safe. */
#pragma once

#include "replay/clock/sim.h"

/* Records the last rank to arrive at each collective: in the times of the clock (run 0) and of its
 * first n_runs - 1 variants. Call before the first sim_push(). Returns 0 or -ENOMEM. */
int sim_record_causes(struct sim *s, uint32_t n_runs);

/* Returns the moment of the last arrival at a collective in a run. `number` is the `operand` of the
 * first wait of a finished point of kind SIM_COLLECTIVE or SIM_TRANSFER. */
uint64_t sim_last_arrival(const struct sim *s, uint32_t number, uint32_t run);
