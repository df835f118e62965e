/* SPDX-License-Identifier: Apache-2.0 */

/* Where a recorded moment of a track comes to lie in the emulated run: annotations have no points
 * of their own, so they keep their distance to the calls or operations around them.
 *
 * Between two points of the track, a moment keeps its distance to the earlier one, and never lies
 * beyond the later one; between two operations of a stream, to the nearer one. A call that another
 * thread hands over to has a point more: when it was handed over; what comes between that and the
 * call keeps its distance to the call. Not thread-safe.
 */
#pragma once

#include "formats/trace/model.h"

struct timemap_point {
	int64_t recorded_ns, emulated_ns;
	int begins; /* an event */
};

struct timemap {
	struct timemap_point *points; /* ascending in both; owned */
	size_t n, cap;
	size_t n_before; /* of them of the slice before the last one */
	int stream;	 /* the track is one: set by the caller */
	int64_t *open;	 /* the events that have not ended at the one at hand */
	size_t open_cap;
};

/* The last point of a track in the slices so far. */
struct timemap_carry {
	struct timemap_point last;
	int known;
};

/* Makes the points of events [at, end) of the slice, which are all of one track; `times` as in
 * feed.h. `carry` is that of the slices before; it stays. With NULL, what p held of the slice
 * before this one stays too, for moments that lie there. 0 or -ENOMEM. */
int timemap_track(struct timemap *p, const struct timemap_carry *carry,
		  const struct fmt_slice *slice, size_t at, size_t end, const int64_t *times);

/* The last point, for the slices to come. */
void timemap_save(const struct timemap *p, struct timemap_carry *carry);

/* The emulated time of a recorded one; the same where the track has no points. */
int64_t timemap_emulated_ns(const struct timemap *p, int64_t recorded_ns);

void timemap_done(struct timemap *p);
