/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/svg_frame.h"

#include "base/array.h"
#include "formats/render/grid.h"
#include "formats/render/report/gpus.h"
#include "formats/render/report/machine.h"

#include <inttypes.h>

/* Colours distinguishable for the colour-blind, and in grey: compute dark, transfer bright, waiting
 * in between and red. */
static const char style[] =
	"<style>\n"
	"text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
	"font-size:11px;fill:#3c4650}\n"
	".h{font-size:18px;font-weight:600;fill:#16202a}\n"
	".g{font-size:12px;font-weight:600;fill:#16202a}\n"
	".l{font-size:9px;fill:#75808b;text-anchor:end}\n"
	".a{fill:#5c6772;text-anchor:middle}\n"
	".i{font-size:11px;font-weight:600;fill:#3c4650;text-anchor:middle}\n"
	".n{font-size:10px;fill:#fff;pointer-events:none}\n"
	".d{font-size:10px;fill:#16202a;pointer-events:none}\n"
	"path{fill:none}\n"
	"rect.c,rect.b,rect.k,rect.m,rect.t,rect.w,rect.p,rect.q{stroke:#fff;stroke-width:.4}\n"
	".c,.c2{fill:#9aa7b4}.b,.b2{fill:#b59ddb}.k,.k2{fill:#1f5fa8}.m,.m2{fill:#3aa6a0}"
	".t,.t2{fill:#f0a830}.w,.w2{fill:#d1495b}.o{fill:#e6eaee}.p,.p2{fill:#c3d5e9}.q,.q2{fill:#"
	"f8e1b4}\n"
	"path.c0,path.c1,path.c2{stroke:#9aa7b4}path.b0,path.b1,path.b2{stroke:#b59ddb}\n"
	"path.p0,path.p1,path.p2{stroke:#c3d5e9}path.q0,path.q1,path.q2{stroke:#f8e1b4}\n"
	"path.k0,path.k1,path.k2{stroke:#1f5fa8}path.m0,path.m1,path.m2{stroke:#3aa6a0}\n"
	"path.t0,path.t1,path.t2{stroke:#f0a830}path.w0,path.w1,path.w2{stroke:#d1495b}\n"
	"path.c2,path.b2,path.k2,path.m2,path.t2,path.w2,path.p2,path.q2{fill:none}\n"
	"path.c0,path.b0,path.k0,path.m0,path.t0,path.w0,path.p0,path.q0{stroke-opacity:.35}\n"
	"path.c1,path.b1,path.k1,path.m1,path.t1,path.w1,path.p1,path.q1{stroke-opacity:.65}\n"
	".x{stroke:#dfe4e9;stroke-width:1}.s{fill:#f4f6f8}.v{stroke:#3c4650;stroke-width:1;"
	"stroke-dasharray:3 2;stroke-opacity:.7}\n"
	"</style>\n";

/* ---- title and legend */

/* Rows are ranks; several may have run on one GPU. */
static void put_gpus(const struct fmt_svg_frame *f, struct text *out)
{
	uint32_t n = fmt_report_n_gpus(f->trace);

	text_printf(out, "%" PRIu32 " GPU%s", n, n == 1 ? "" : "s");
	if (n != f->n_gpus)
		text_printf(out, " · %" PRIu32 " rank%s", f->n_gpus, f->n_gpus == 1 ? "" : "s");
}

static void put_title(const struct fmt_svg_frame *f, struct text *out)
{
	const struct fmt_device *device = NULL;
	const char *name;
	size_t len;

	if (f->n_gpus > 0)
		device = fmt_report_device(f->trace,
					   f->part->rank == FMT_ANY ? 0 : (uint32_t)f->part->rank);
	if (f->part->iteration != FMT_ANY)
		text_printf(out, "Iteration %" PRId64 " · ", f->part->iteration);
	if (f->part->rank != FMT_ANY)
		text_printf(out, "GPU %" PRIu32,
			    fmt_trace_rank(f->trace, (uint32_t)f->part->rank)->number);
	else
		put_gpus(f, out);
	if (device && device->name) {
		name = fmt_string(fmt_trace_names(f->trace), device->name, &len);
		text_str(out, " · ");
		fmt_svg_string(out, name, len, 60);
	}
	text_printf(out, " · %s",
		    fmt_time((int64_t)((uint64_t)f->scale->to_ns - (uint64_t)f->scale->from_ns)).s);
}

static void put_legend(const struct fmt_svg_frame *f, struct text *out)
{
	static const struct {
		char ink;
		int width;
		const char *what;
	} items[] = {
		{'c', 88, "host call"},
		{'b', 140, "host waits for GPU"},
		{'k', 84, "compute"},
		{'m', 94, "copy, set"},
		{'t', 146, "collective: transfer"},
		{'w', 216, "collective: waiting for last GPU"},
		{'o', 50, "idle"},
		{'p', 130, "other iterations"},
	};
	int x = FMT_SVG_LEFT;

	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		bool plain = items[i].ink == 't' && !f->waiting_known;

		if ((items[i].ink == 'w' && !f->waiting_known) ||
		    (items[i].ink == 'p' && !f->other_iterations))
			continue;
		text_printf(out,
			    "<rect class=\"%c\" x=\"%d\" y=\"48\" width=\"12\" height=\"12\" "
			    "rx=\"2\"/><text x=\"%d\" y=\"58\">%s</text>\n",
			    items[i].ink, x, x + 17, plain ? "collective" : items[i].what);
		x += plain ? 94 : items[i].width;
	}
	text_printf(out, "<text x=\"%d\" y=\"%d\">share of time</text>\n", FMT_SVG_RIGHT + 16,
		    FMT_SVG_TOP - 8);
}

/* ---- axis */

static double nice_step(double span, int most)
{
	static const double steps[] = {1, 2, 5, 10};
	double unit = 1;

	while (span / unit / 10 > most)
		unit *= 10;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (span / (unit * steps[i]) <= most)
			return unit * steps[i];
	}
	return unit * 10;
}

static void put_axis(const struct fmt_svg_frame *f, struct text *out)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	double span = (double)f->scale->to_ns - (double)f->scale->from_ns;
	double step = nice_step(span, 12);
	size_t unit = 0;

	while (unit < 3 && step * 4 < units[unit].ns)
		unit++;
	for (int i = 0; i * step <= span && i < 64; i++) {
		double x = f->scale->left + i * step / span * f->scale->width;

		text_printf(out,
			    "<path class=\"x\" d=\"M%s %dV%s\"/><text class=\"a\" x=\"%s\" "
			    "y=\"%d\">%.6g %s</text>\n",
			    fmt_px(x).s, FMT_SVG_TOP - 22, fmt_px(f->height - 14).s, fmt_px(x).s,
			    FMT_SVG_TOP - 27, i * step / units[unit].ns, units[unit].name);
	}
}

void fmt_svg_begin(const struct fmt_svg_frame *f, struct text *out)
{
	text_printf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		    "height=\"%d\">\n",
		    FMT_SVG_WIDTH, (int)f->height, FMT_SVG_WIDTH, (int)f->height);
	text_str(out, style);
	text_str(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text class=\"h\" "
		      "x=\"16\" y=\"30\">");
	put_title(f, out);
	text_str(out, "</text>\n");
	put_legend(f, out);
	put_axis(f, out);
}

void fmt_svg_end(const struct fmt_svg_frame *f, struct text *out)
{
	if (f->n_shown < f->n_gpus)
		text_printf(out,
			    "<text x=\"16\" y=\"%s\">the first %" PRIu32 " of %" PRIu32
			    " GPUs</text>\n",
			    fmt_px(f->height - 4).s, f->n_shown, f->n_gpus);
	text_str(out, "</svg>\n");
}

/* ---- iterations */

struct mark {
	const struct fmt_svg_frame *f;
	double top, bottom;
	double named_upto; /* right end of the last name */
	bool names;
	unsigned n;
};

static void put_mark(struct mark *m, const struct fmt_iteration *it, double from, double to,
		     struct text *out)
{
	bool wide = to - from >= 80;

	if (to - from >= 2 && m->n++ % 2 == 1)
		fmt_svg_rect('s', from, m->top, to - from, m->bottom - m->top, out);
	if (to - from >= 6)
		text_printf(out, "<path class=\"v\" d=\"M%s %sV%s\"/>\n", fmt_px(from).s,
			    fmt_px(m->top).s, fmt_px(m->bottom).s);
	if (!m->names || (from + to) / 2 < m->named_upto + 22)
		return;
	text_printf(out, "<text class=\"i\" x=\"%s\" y=\"%d\">%s%" PRId64 "</text>\n",
		    fmt_px((from + to) / 2).s, FMT_SVG_TOP - 8, wide ? "iteration " : "",
		    it->number);
	m->named_upto = (from + to) / 2 + (wide ? 40 : 14);
}

void fmt_svg_iterations(const struct fmt_svg_frame *f, uint32_t rank, double top, double bottom,
			bool names, struct text *out)
{
	struct fmt_part part = {f->part->iteration, rank};
	struct fmt_walk w = fmt_walk(f->trace, &part);
	struct mark m = {f, top, bottom, 0, names, 0};
	int64_t last = FMT_ANY;

	while (fmt_walk_next(&w)) {
		const struct fmt_iteration *it = &w.info->iteration;
		double from = fmt_svg_x(f->scale, it->start_ns);
		double to = from + (double)it->duration_ns /
					   ((double)f->scale->to_ns - (double)f->scale->from_ns) *
					   f->scale->width;

		if (it->number == FMT_BEFORE || it->number == FMT_AFTER || it->number == last)
			continue;
		last = it->number;
		from = from < f->scale->left ? f->scale->left : from;
		to = to > f->scale->left + f->scale->width ? f->scale->left + f->scale->width : to;
		if (to > from)
			put_mark(&m, it, from, to, out);
	}
}

/* ---- bars */

void fmt_svg_share(const struct fmt_svg_share *s, double top, double height, struct text *out)
{
	const double parts[] = {(double)s->compute_ns, (double)s->transfer_ns,
				(double)s->waiting_ns, (double)s->idle_ns};
	static const char inks[] = {'k', 't', 'w', 'o'};
	double whole = parts[0] + parts[1] + parts[2] + parts[3];
	double x = FMT_SVG_RIGHT + 16, width = FMT_SVG_WIDTH - 16 - x;

	if (whole <= 0)
		return;
	text_printf(out,
		    "<g><title>compute %.1f %% (%.1f %% with communication at the same time)\n"
		    "communication alone: transfer %.1f %%, waiting %.1f %%\nidle %.1f %%</title>",
		    100 * parts[0] / whole, 100 * (double)s->hidden_ns / whole,
		    100 * parts[1] / whole, 100 * parts[2] / whole, 100 * parts[3] / whole);
	for (size_t i = 0; i < ARRAY_SIZE(inks); i++) {
		fmt_svg_rect(inks[i], x, top, parts[i] / whole * width, height, out);
		if (height >= 12 && parts[i] / whole * width >= 22 && i < 3)
			text_printf(out, "<text class=\"%c\" x=\"%.1f\" y=\"%.1f\">%.0f%%</text>",
				    inks[i] == 't' ? 'd' : 'n', x + 3, top + height / 2 + 3.5,
				    100 * parts[i] / whole);
		x += parts[i] / whole * width;
	}
	text_str(out, "</g>\n");
}
