/* SPDX-License-Identifier: Apache-2.0 */

/* A picture while it is drawn: svg_read.c reads the events, svg.c arranges and prints them.
 * Internal to formats/render/export. */
#pragma once

#include "formats/render/export/svg_frame.h"
#include "formats/render/report/instances.h"
#include "formats/render/report/neighbours.h"

/* An operation of another iteration that the picture shows. */
struct fmt_svg_neighbour {
	struct fmt_svg_box box;
	uint32_t track;
	bool collective;
	int64_t comm, seq; /* of a collective; comm is -1 if unknown */
};

struct fmt_svg_rank {
	uint8_t *seen; /* by track: 1 if the picture shows an event of the track */
	uint32_t n_threads, n_streams;
	uint32_t first_slice, end_slice; /* slices of the part; 0 and 0: none */
	struct fmt_svg_neighbour *near;
	size_t n_near, near_cap;
};

struct fmt_svg_picture {
	struct fmt_trace *trace;
	const struct fmt_names *names;
	struct fmt_part part;
	struct fmt_svg_scale scale;
	struct fmt_instances instances;
	struct fmt_neighbours neighbours;
	struct fmt_svg_rank *ranks;
	struct fmt_brief brief; /* short names of calls and operations, by string number */
	uint8_t *inks;		/* by template: 1 + enum fmt_ink; 0: not looked up yet */
};

/* Allocates. Returns 0 or -ENOMEM. */
int fmt_svg_picture_init(struct fmt_svg_picture *p);
void fmt_svg_picture_done(struct fmt_svg_picture *p);

/* Reads the part: its tracks, its time span, operations of other iterations within this span, and
 * the collectives of other ranks if `across`. */
int fmt_svg_read(struct fmt_svg_picture *p, bool across, struct fmt_error *err);

/* Returns true if the picture shows the event. */
bool fmt_svg_is_drawn(const struct fmt_svg_picture *p, const struct fmt_slice *slice,
		      const struct fmt_event *e);

/* Returns the wait time of a rank in a collective; 0 if unknown. */
int64_t fmt_svg_waiting(const struct fmt_svg_picture *p, int64_t comm, int64_t seq,
			int64_t duration_ns);
