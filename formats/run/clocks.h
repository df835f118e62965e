/* SPDX-License-Identifier: Apache-2.0 */

/* Aligns the clocks of several GPUs or hosts by events that several of them recorded, such as the
 * end of a collective. One thread. Times are nanoseconds, any int64_t; differences wrap around. */
#pragma once

#include "formats/trace/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fmt_clock_sample {
	uint64_t moment; /* equal for the same event */
	int64_t at_ns;	 /* time on the clock */
	uint32_t clock;
};

/* The offset of a clock from the reference, clock 0. */
struct fmt_clock {
	int64_t at_ns, ahead_ns; /* at at_ns of this clock, it is ahead_ns ahead */
	double drift;		 /* ns gained for each ns of this clock */
	bool known;		 /* aligned with the reference by sightings; else by the guess */
};

/* Converts a time to the reference clock. Monotonic. */
int64_t fmt_clock_ns(const struct fmt_clock *c, int64_t at_ns);

/* Aligns the clocks with most of the sightings: by a constant, or with `drifting` by a line if a
 * line fits better. clocks[].ahead_ns is a guess on entry; it remains for a clock that no sighting
 * connects to the reference, and for clocks aligned with that one. Of several sightings of one
 * event on a clock, the last counts. Sorts `s` by moment and clock. Returns 0 or -ENOMEM. */
int fmt_clocks_align(struct fmt_clock_sample *s, size_t n, bool drifting, struct fmt_clock *clocks,
		     uint32_t n_clocks);

/* Differences between aligned clocks at events that several of them recorded. */
struct fmt_clocks_error {
	size_t moments;
	int64_t p50_ns, p95_ns, max_ns;
};

/* `s` must be sorted by fmt_clocks_align(). Returns 0 or -ENOMEM. */
int fmt_clocks_error(const struct fmt_clock_sample *s, size_t n, const struct fmt_clock *clocks,
		     struct fmt_clocks_error *ret);
