/* SPDX-License-Identifier: Apache-2.0 */

/* The intervals in which each GPU waited in collectives for other ranks. Simultaneous waits of a
 * GPU count once. Not thread-safe. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct fmt_wait {
	uint32_t rank; /* index */
	int64_t start_ns, end_ns;
};

struct fmt_waits {
	struct fmt_wait *items; /* owned */
	size_t n, cap;
};

/* Returns 0 or -ENOMEM. */
int fmt_waits_add(struct fmt_waits *w, uint32_t rank, int64_t start_ns, int64_t length_ns);

/* Sorts and merges the intervals. */
void fmt_waits_merge(struct fmt_waits *w);

/* Returns the wait time of `rank` within an interval, after fmt_waits_merge(). */
int64_t fmt_waits_within(const struct fmt_waits *w, uint32_t rank, int64_t start_ns,
			 int64_t end_ns);

void fmt_waits_done(struct fmt_waits *w);
