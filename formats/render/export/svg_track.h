/* SPDX-License-Identifier: Apache-2.0 */

/* One track of a picture: wide events become boxes with titles; others are combined in columns,
 * each of which shows the class that fills most of it. Internal to formats/render/export. */
#pragma once

#include "base/text.h"
#include "formats/render/report/brief.h"
#include "formats/trace/names.h"

#include <stdbool.h>

enum fmt_ink {
	FMT_INK_CALL,
	FMT_INK_BLOCKED, /* a call that waits for the device */
	FMT_INK_COMPUTE,
	FMT_INK_COPY,
	FMT_INK_TRANSFER,
	FMT_INK_WAITING,
	FMT_INK_NEAR, /* of another iteration: kernels, copies, memsets; collectives */
	FMT_INK_NEAR_TRANSFER,
	FMT_INKS,
};

struct fmt_svg_scale {
	int64_t from_ns, to_ns; /* visible time span */
	double left, width;	/* in pixels */
	unsigned column;	/* width of a column in pixels */
	double box;		/* minimum width of a box in pixels */
};

struct fmt_svg_box {
	int64_t start_ns, duration_ns, waiting_ns;
	int64_t iteration; /* of FMT_INK_NEAR... */
	uint32_t template;
	uint8_t ink;
};

struct fmt_svg_track {
	float *columns; /* [column][ink]: pixels */
	uint8_t *used;	/* by column: 1 if not empty */
	size_t n_columns;
	struct fmt_svg_box *boxes;
	size_t n_boxes, boxes_cap;
	uint64_t n; /* events */
	int64_t busy_ns;
};

int fmt_svg_track_init(struct fmt_svg_track *l, const struct fmt_svg_scale *scale);
void fmt_svg_track_done(struct fmt_svg_track *l);

/* Adds one event. For a collective, the first `waiting_ns` of its duration are wait time. Returns 0
 * or -ENOMEM. */
int fmt_svg_track_add(struct fmt_svg_track *l, const struct fmt_svg_scale *scale,
		      const struct fmt_svg_box *event);

/* Adds all events of `from`, for tracks that share a row. Returns 0 or -ENOMEM. */
int fmt_svg_track_fold(struct fmt_svg_track *l, const struct fmt_svg_track *from);

/* `brief` contains the names of all templates in the track, by string number. */
void fmt_svg_track_print(const struct fmt_svg_track *l, const struct fmt_svg_scale *scale,
			 const struct fmt_names *names, const struct fmt_brief *brief, double top,
			 double height, struct text *out);

/* Formats a coordinate to a tenth of a pixel, for printf: `fmt_px(x).s`. */
struct fmt_px {
	char s[24];
};

struct fmt_px fmt_px(double v);

/* Appends a rectangle of a CSS class. */
void fmt_svg_rect(char class, double x, double y, double width, double height, struct text *out);

/* Appends bytes of a trace as the text of an element, at most `most` characters. */
void fmt_svg_string(struct text *t, const char *s, size_t len, size_t most);

double fmt_svg_x(const struct fmt_svg_scale *scale, int64_t ns);
