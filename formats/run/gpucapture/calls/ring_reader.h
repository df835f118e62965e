/* SPDX-License-Identifier: Apache-2.0 */

/* One ring while it is recorded: what it holds and was not looked at yet, and its thread.
 *
 * Threads of a process use each other's handles, so their calls are looked at in the order in which
 * they returned, cap_call_order(), over all rings of the process. What was in the rings a round ago
 * cannot be preceded by anything that comes later, so it is always looked at one round behind. One
 * thread. */
#pragma once

#include "formats/raw/clock.h"
#include "formats/raw/layouts.h"
#include "formats/raw/record.h"
#include "formats/run/gpucapture/process/call.h"

struct rec_ring_reader {
	struct cap_drain_about about;
	struct rec_process *process;   /* not owned */
	const struct cap_clock *clock; /* not owned; NULL: the ring's times are ns */
	struct rec_thread thread;
	struct cap_layouts layouts;
	uint8_t *queue; /* owned: records of calls, and what belongs to them */
	size_t at, n, cap;
	uint8_t *held; /* owned: what belongs to calls that go on around others */
	size_t n_held, held_cap;
	size_t safe;	      /* up to here it was there a round ago */
	size_t group_end;     /* of the next call or range, behind `at`; 0: not looked for yet */
	uint64_t group_order; /* of that call; of a range that of the call before it */
};

/* `clock` is needed for a ring of CAP_CLOCK_TSC. -ENOMEM. */
int rec_ring_reader_new(const struct cap_drain_about *about, struct rec_process *p,
			const struct cap_clock *clock, struct rec_ring_reader **ret);
void rec_ring_reader_free(struct rec_ring_reader *f);

/* Reads records copied from the ring, 8-byte aligned. Skips and counts damaged records. 0 or a
 * negative errno. */
int rec_ring_reader_add(struct rec_ring_reader *f, struct fmt_cursor *c);

/* Some of what the ring held is lost. */
void rec_ring_reader_damaged(struct rec_ring_reader *f);

/* Every ring of the process was looked at. */
void rec_ring_reader_round(struct rec_ring_reader *f);

/* Looks at what the readers of one process hold, as far as it is in order; with `all`, everything.
 * 0 or a negative errno. */
int rec_ring_readers_follow(struct rec_ring_reader *const *readers, size_t n, bool all);
