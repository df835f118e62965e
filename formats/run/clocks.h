/* SPDX-License-Identifier: Apache-2.0 */

/* How clocks of several GPUs or hosts differ, from moments that several of them saw, as the end of
 * a collective. One thread. Times are nanoseconds, any int64_t; differences wrap around. */
#pragma once

#include "formats/trace/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fmt_sighting {
	uint64_t moment; /* the same number for the same moment */
	int64_t at_ns;	 /* time on the clock */
	uint32_t clock;
};

/* A clock against the reference, which is clock 0. */
struct fmt_clock {
	int64_t at_ns, ahead_ns; /* when it says at_ns it is so much ahead */
	double drift;		 /* and gains so much on each ns of its own */
	bool known;		 /* moments tie it to the reference; else it was guessed */
};

/* The same moment on the reference. Never earlier for a later time. */
int64_t fmt_clock_ns(const struct fmt_clock *c, int64_t at_ns);

/* Sets the clocks by what most of the moments say: a constant, or with `drifting` a line where that
 * fits better. clocks[].ahead_ns is a guess that counts where no moments tie a clock to the
 * reference; those tied to such a clock follow it. A clock that sees a moment several times saw it
 * when it did last. Sorts `s` by moment and clock. 0 or -ENOMEM. */
int fmt_clocks_align(struct fmt_sighting *s, size_t n, bool drifting, struct fmt_clock *clocks,
		     uint32_t n_clocks);

/* How far apart aligned clocks still are at moments that several of them saw. */
struct fmt_clocks_error {
	size_t moments;
	int64_t p50_ns, p95_ns, max_ns;
};

/* `s` as fmt_clocks_align() has sorted it. 0 or -ENOMEM. */
int fmt_clocks_error(const struct fmt_sighting *s, size_t n, const struct fmt_clock *clocks,
		     struct fmt_clocks_error *ret);
