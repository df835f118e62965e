/* SPDX-License-Identifier: Apache-2.0 */

/* Turns the slices of a trace into blocks of the virtual clock: what doc/emulation.md says a call,
 * an operation and an edge mean is said to the clock here, and nowhere else.
 *
 * What is read: the tracks and the order of events in them, durations of operations, the host's own
 * time (between calls of a thread, and inside those that wait for nothing), edges and their lags,
 * and the constants of each rank. What is not: when an operation started, how long a call took that
 * waits, and anything of a collective but the shortest duration over its ranks.
 *
 * Event k of a slice has the slots 2 k (its start) and 2 k + 1 (its end) of the block, so the
 * moments of a rank are 2 n and 2 n + 1 for the event with the number n. Events of kind FMT_SYNC
 * take no part; their slots are SIM_NEVER.
 */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/names.h"

#include "replay/engine/sim.h"

struct program;

/* `numbers[i]` is the recorder's number of rank i. Tells `sim` the ranks and the communicators.
 * `names` and `sim` are not owned and must outlive the program. 0 or -ENOMEM. */
int program_new(const struct fmt_names *names, const uint32_t *numbers, uint32_t n_ranks,
		struct sim *sim, struct program **ret);
void program_free(struct program *p);

/* The block of the rank's next slice, filled and ready to be pushed. `more` tells that the slice
 * after it belongs to the same iteration. -ENOMEM, or -EBADMSG for a slice that contradicts itself.
 */
int program_slice(struct program *p, uint32_t rank, const struct fmt_slice *slice, int more,
		  struct sim_block **ret, struct fmt_error *err);

struct program_counts {
	uint64_t ops;
	uint64_t rootless; /* ops that nothing holds: they start with the rank's first call */
	uint64_t repeated; /* collectives of the same number as one before them on their rank */
};

const struct program_counts *program_counts(const struct program *p);
