/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the records of one ring, which belongs to one thread of the recorded process.
 *
 * Threads of a process share handles, so their calls are processed in the order in which they
 * returned, cap_call_order(), over all rings of the process. No later record can precede the
 * contents of the previous round, so processing lags one round behind. One thread. */
#pragma once

#include "formats/raw/clock.h"
#include "formats/raw/layouts.h"
#include "formats/raw/record.h"
#include "formats/run/gpucapture/process/call.h"

struct rec_ring_reader {
	struct cap_ring_info about;
	struct rec_process *process;   /* not owned */
	const struct cap_clock *clock; /* not owned; NULL: the ring's times are ns */
	struct rec_thread thread;
	struct cap_layouts layouts;
	uint8_t *queue; /* owned: unprocessed calls, each preceded by its blobs */
	size_t at, n, cap;
	uint8_t *held; /* owned: blobs of calls whose nested calls ended first */
	size_t n_held, held_cap;
	size_t safe;	  /* offset in queue: end of the previous round */
	size_t group_end; /* offset in queue: end of the next call or range; 0: not searched yet */
	uint64_t group_order; /* order of that call; of a range: its time, or the order of the
				 previous call */
};

/* `clock` is required for a ring with CAP_CLOCK_TSC. Returns 0 or a negative errno. */
int rec_ring_reader_new(const struct cap_ring_info *about, struct rec_process *p,
			const struct cap_clock *clock, struct rec_ring_reader **ret);
void rec_ring_reader_free(struct rec_ring_reader *f);

/* Adds records that were copied from the ring, 8-byte aligned. Skips and counts damaged records.
 * Returns 0 or a negative errno. */
int rec_ring_reader_add(struct rec_ring_reader *f, struct fmt_cursor *c);

/* Counts damage: some contents of the ring are lost. */
void rec_ring_reader_note_damage(struct rec_ring_reader *f);

/* Ends a round: a piece of every ring of the process was added. */
void rec_ring_reader_end_round(struct rec_ring_reader *f);

/* Processes the queued records of all readers of one process, as far as their order is final; with
 * `all`, every record. Returns 0 or a negative errno. */
int rec_ring_readers_process(struct rec_ring_reader *const *readers, size_t n, bool all);
