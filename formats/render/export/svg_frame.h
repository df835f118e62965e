/* SPDX-License-Identifier: Apache-2.0 */

/* The parts of a picture around its tracks. Internal to formats/render/export. */
#pragma once

#include "formats/render/export/svg_track.h"
#include "formats/trace/store/part.h"

#define FMT_SVG_WIDTH 1600
#define FMT_SVG_LEFT 150   /* left end of the tracks */
#define FMT_SVG_RIGHT 1440 /* right end of the tracks; bars follow */
#define FMT_SVG_TOP 112

struct fmt_svg_frame {
	const struct fmt_trace *trace;
	const struct fmt_part *part;
	const struct fmt_svg_scale *scale;
	uint32_t n_gpus, n_shown;
	bool waiting_known;
	bool other_iterations; /* operations of other iterations are shown in pale colours */
	double height;	       /* of the whole picture */
};

/* The division of one GPU's time; the sum of the first four is the whole time. */
struct fmt_svg_share {
	int64_t compute_ns, transfer_ns, waiting_ns, idle_ns;
	int64_t hidden_ns; /* part of compute_ns during which a collective also runs */
};

/* Writes the document up to the first track: style, title, legend, axis. */
void fmt_svg_begin(const struct fmt_svg_frame *f, struct text *out);
void fmt_svg_end(const struct fmt_svg_frame *f, struct text *out);

/* Shades every second iteration of a rank, between two heights, and marks their starts; with
 * `names`, writes their names above. */
void fmt_svg_iterations(const struct fmt_svg_frame *f, uint32_t rank, double top, double bottom,
			bool names, struct text *out);

void fmt_svg_share(const struct fmt_svg_share *s, double top, double height, struct text *out);
