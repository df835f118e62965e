/* SPDX-License-Identifier: Apache-2.0 */

/* Maps recorded times of a track to emulated times, for annotations. Annotations are not emulated;
 * they keep their distance to the calls or operations around them.
 *
 * Between two points of a thread, a time keeps its distance to the earlier point, but never exceeds
 * the later point. Between two operations of a stream, it keeps its distance to the nearer one. A
 * call to which another thread hands over has a second point, the hand-over: times between the two
 * keep their distance to the call. Not thread-safe. */
#pragma once

#include "formats/trace/model.h"

struct timemap_point {
	int64_t recorded_ns, emulated_ns;
	int64_t before_ns; /* recorded distance to the slot */
	uint32_t slot;	   /* its time, as in simulate.h */
	int begins;	   /* an event */
};

struct timemap {
	struct timemap_point *points; /* ascending in both times; owned */
	size_t n, cap;
	size_t n_before; /* number of points before those of the last slice */
	int stream;	 /* the track is a stream; set by the caller */
	double host;	 /* factor of distances, 0: 1; set by the caller */
	int64_t *open;	 /* ends of the events around the current one */
	size_t open_cap;
};

/* The last point of a track in the slices so far. */
struct timemap_carry {
	struct timemap_point last;
	int known;
};

/* Adds the points of events [at, end) of the slice, all of one track; `times` as in simulate.h.
 * `carry` comes from the previous slice. With NULL, the map keeps the points of the previous slice,
 * for times there. 0 or -ENOMEM. */
int timemap_add_track(struct timemap *p, const struct timemap_carry *carry,
		      const struct fmt_slice *slice, size_t at, size_t end, const int64_t *times);

/* Replaces the emulated times of these points by those of another variant; `carry` is that of the
 * variant. */
void timemap_variant(struct timemap *p, const struct timemap_carry *carry, const int64_t *times);

/* Saves the last point, for the next slice. */
void timemap_save(const struct timemap *p, struct timemap_carry *carry);

/* Returns the emulated time of a recorded time; the same time if the track has no points. */
int64_t timemap_emulated_ns(const struct timemap *p, int64_t recorded_ns);

/* Returns the distance of a recorded time from the nearest point. */
int64_t timemap_distance_ns(const struct timemap *p, int64_t recorded_ns);

void timemap_done(struct timemap *p);
