/* SPDX-License-Identifier: Apache-2.0 */

/* Converts the slices of a trace to blocks of the virtual clock. Only this file defines the meaning
 * of calls, operations and edges in virtual time (doc/emulation.md).
 *
 * Reads the tracks and their order of events, durations of operations, the host's own time (between
 * the calls of a thread, and in calls that do not wait), edges with their lags, and the constants
 * of each rank. Never reads recorded start times of operations, durations of calls that wait, or
 * durations of collectives except the shortest over their ranks.
 *
 * Event k of a slice has slots 2 k (its start) and 2 k + 1 (its end) of the block. So the moments
 * of event number n of a rank are 2 n and 2 n + 1. Events of kind FMT_SYNC are ignored; their slots
 * are SIM_NEVER. */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/names.h"

#include "replay/clock/sim.h"
#include "replay/program/program_counts.h"
#include "replay/what_if/what_if.h"

struct change;
struct copies;
struct program;

/* `copies` (NULL: none): the ranks are those of a run with another number of copies. `overlap`:
 * which operations may run beside collectives. `numbers[i]` is the recorder's number of rank i.
 * Declares the ranks and communicators to `sim`. `change` says what differs in the variants of
 * `sim`; NULL: not found. `names`, `sim` and `change` are not owned and must outlive the
 * program. 0 or -ENOMEM. */
int program_new(const struct fmt_names *names, const uint32_t *numbers, uint32_t n_ranks,
		struct sim *sim, struct change *change, enum what_if_overlap overlap,
		const struct copies *copies, struct program **ret);
void program_free(struct program *p);

/* Makes the block of the rank's next slice, ready for sim_push(). `more`: the slice after it
 * belongs to the same iteration. -ENOMEM, or -EBADMSG for an inconsistent slice. */
int program_compile_slice(struct program *p, uint32_t rank, const struct fmt_slice *slice, int more,
			  struct sim_block **ret, struct fmt_error *err);

const struct program_counts *program_counts(const struct program *p);
