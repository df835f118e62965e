/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/svg_track.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/render/time.h"
#include "formats/trace/json.h"

#include <inttypes.h>

/* CSS class of each ink. */
static const char classes[FMT_INKS] = {'c', 'b', 'k', 'm', 't', 'w', 'p', 'q'};

#define LEVELS 3 /* levels of how full a column is */
#define LONG_TITLE 160

/* ---- text */

struct fmt_px fmt_px(double v)
{
	int64_t tenths = (int64_t)(v * 10 + (v < 0 ? -0.5 : 0.5));
	struct fmt_px ret;

	snprintf(ret.s, sizeof(ret.s), tenths % 10 ? "%.1f" : "%.0f", (double)tenths / 10);
	return ret;
}

void fmt_svg_rect(char class, double x, double y, double width, double height, struct text *out)
{
	text_printf(out, "<rect class=\"%c\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>", class,
		    fmt_px(x).s, fmt_px(y).s, fmt_px(width).s, fmt_px(height).s);
}

/* Returns true for bytes that need no escaping in the text of an element. */
static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '&' && c != '<' && c != '>';
}

void fmt_svg_string(struct text *t, const char *s, size_t len, size_t most)
{
	for (size_t i = 0, shown = 0; i < len; shown++) {
		size_t from = i, n;

		for (; i < len && shown + 1 < most && is_plain(s[i]); i++)
			shown++;
		text_bytes(t, s + from, i - from);
		if (i == len)
			return;
		n = fmt_utf8_length(s + i, len - i);
		if (shown + 1 >= most && i + (n ? n : 1) < len) {
			text_str(t, "…");
			return;
		}
		if (s[i] == '&')
			text_str(t, "&amp;");
		else if (s[i] == '<')
			text_str(t, "&lt;");
		else if (s[i] == '>')
			text_str(t, "&gt;");
		else if (n == 0 || (n == 1 && ((unsigned char)s[i] < ' ' || s[i] == 0x7f)) ||
			 (n == 3 && !memcmp(s + i, "\xef\xbf", 2) && (s[i + 2] & 0x3e) == 0x3e))
			text_str(t, "\xef\xbf\xbd");
		else
			text_bytes(t, s + i, n);
		i += n ? n : 1;
	}
}

double fmt_svg_x(const struct fmt_svg_scale *scale, int64_t ns)
{
	double span = (double)scale->to_ns - (double)scale->from_ns;

	return scale->left + ((double)ns - (double)scale->from_ns) / span * scale->width;
}

/* ---- gathering */

int fmt_svg_track_init(struct fmt_svg_track *l, const struct fmt_svg_scale *scale)
{
	l->n_columns = (size_t)scale->width / scale->column + 1;
	l->columns = calloc(l->n_columns * FMT_INKS, sizeof(*l->columns));
	l->used = calloc(l->n_columns, 1);
	return l->columns && l->used ? 0 : -ENOMEM;
}

void fmt_svg_track_done(struct fmt_svg_track *l)
{
	free(l->columns);
	free(l->used);
	free(l->boxes);
	memset(l, 0, sizeof(*l));
}

/* Adds ink between two positions, in pixels from the left end. */
static void add_ink(struct fmt_svg_track *l, const struct fmt_svg_scale *scale, double from,
		    double to, uint8_t ink)
{
	double step = scale->column;

	from = from < 0 ? 0 : from;
	to = to > scale->width ? scale->width : to;
	/* Events without duration remain visible. */
	if (to < from + 0.02)
		to = from + 0.02;
	for (size_t i = (size_t)(from / step); i < l->n_columns && from < to; i++) {
		double end = (double)(i + 1) * step;

		if (end > to)
			end = to;
		l->columns[i * FMT_INKS + ink] += (float)(end - from);
		l->used[i] = 1;
		from = end;
	}
}

static bool is_near(uint8_t ink)
{
	return ink == FMT_INK_NEAR || ink == FMT_INK_NEAR_TRANSFER;
}

int fmt_svg_track_add(struct fmt_svg_track *l, const struct fmt_svg_scale *scale,
		      const struct fmt_svg_box *event)
{
	double from = fmt_svg_x(scale, event->start_ns) - scale->left;
	double per_ns = scale->width / ((double)scale->to_ns - (double)scale->from_ns);
	double width = (double)event->duration_ns * per_ns;
	double waiting = (double)event->waiting_ns * per_ns;

	l->n++;
	fmt_sum_ns(&l->busy_ns, event->duration_ns);
	if (from > scale->width || from + width < 0)
		return 0;
	if (width < scale->box || (double)l->n_boxes > 2 * scale->width / scale->box) {
		if (is_near(event->ink))
			waiting = 0;
		if (waiting > 0)
			add_ink(l, scale, from, from + waiting, FMT_INK_WAITING);
		add_ink(l, scale, from + waiting, from + width, event->ink);
		return 0;
	}
	if (array_reserve(&l->boxes, l->n_boxes + 1, &l->boxes_cap) < 0)
		return -ENOMEM;
	l->boxes[l->n_boxes++] = *event;
	return 0;
}

int fmt_svg_track_fold(struct fmt_svg_track *l, const struct fmt_svg_track *from)
{
	for (size_t i = 0; i < l->n_columns * FMT_INKS; i++)
		l->columns[i] += from->columns[i];
	for (size_t i = 0; i < l->n_columns; i++)
		l->used[i] |= from->used[i];
	if (array_reserve(&l->boxes, l->n_boxes + from->n_boxes, &l->boxes_cap) < 0)
		return -ENOMEM;
	if (from->n_boxes)
		memcpy(l->boxes + l->n_boxes, from->boxes, from->n_boxes * sizeof(*l->boxes));
	l->n_boxes += from->n_boxes;
	l->n += from->n;
	fmt_sum_ns(&l->busy_ns, from->busy_ns);
	return 0;
}

/* ---- columns */

/* Returns the look of a column: its ink times LEVELS, plus its level; or -1 if it is empty. */
static int ink_and_level_of(const float *column, unsigned pixels)
{
	float sum = 0;
	int most = 0;

	for (int i = 0; i < FMT_INKS; i++) {
		sum += column[i];
		if (column[i] > column[most])
			most = i;
	}
	sum /= (float)pixels;
	if (sum <= 0)
		return -1;
	return most * LEVELS + (sum >= 0.6f ? 2 : sum >= 0.2f ? 1 : 0);
}

/* Prints all columns of one look, as dashes of a thick line. */
static void print_look(const struct fmt_svg_track *l, const struct fmt_svg_scale *scale, int look,
		       const signed char *looks, double middle, double height, struct text *out)
{
	size_t at = 0;
	bool open = false;

	for (size_t i = 0; i < l->n_columns;) {
		size_t end = i;

		while (end < l->n_columns && looks[end] == look)
			end++;
		if (end == i) {
			i++;
			continue;
		}
		if (!open) {
			text_printf(out, "<path class=\"%c%d\" stroke-width=\"%s\" d=\"M%s %sh%zu",
				    classes[look / LEVELS], look % LEVELS, fmt_px(height).s,
				    fmt_px(scale->left + (double)(i * scale->column)).s,
				    fmt_px(middle).s, (end - i) * scale->column);
			open = true;
		} else {
			text_printf(out, "m%zu 0h%zu", (i - at) * scale->column,
				    (end - i) * scale->column);
		}
		at = i = end;
	}
	if (open)
		text_str(out, "\"/>\n");
}

static void print_columns(const struct fmt_svg_track *l, const struct fmt_svg_scale *scale,
			  double top, double height, struct text *out)
{
	signed char *looks = malloc(l->n_columns);
	bool seen[FMT_INKS * LEVELS] = {false};

	if (!looks) {
		out->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < l->n_columns; i++) {
		looks[i] = -1;
		if (l->used[i])
			looks[i] = (signed char)ink_and_level_of(l->columns + i * FMT_INKS,
								 scale->column);
		if (looks[i] >= 0)
			seen[looks[i]] = true;
	}
	for (int look = 0; look < FMT_INKS * LEVELS; look++)
		if (seen[look])
			print_look(l, scale, look, looks, top + height / 2, height, out);
	free(looks);
}

/* ---- boxes */

/* The arguments of printing boxes and their labels. */
struct print {
	const struct fmt_svg_scale *scale;
	const struct fmt_names *names;
	const struct fmt_brief *brief; /* of the names, by their number */
	double top, height;
	struct text *out;
};

static void print_label(const struct print *p, fmt_str name, bool dark, double x, double width)
{
	size_t fits = width < 30 ? 0 : (size_t)((width - 6) / 5.8);
	scoped(text_done) struct text label = {0};

	if (p->height < 12 || fits < 4)
		return;
	fmt_brief_label(p->brief, name, fits, &label);
	if (label.error || label.len < 3 || (fits < 8 && memmem(label.data, label.len, "…", 3)))
		return;
	text_printf(p->out, "<text class=\"%c\" x=\"%s\" y=\"%s\">", dark ? 'd' : 'n',
		    fmt_px(x + 3).s, fmt_px(p->top + p->height / 2 + 3.5).s);
	fmt_svg_string(p->out, label.data, label.len, SIZE_MAX);
	text_str(p->out, "</text>");
}

static void put_iteration(int64_t number, struct text *out)
{
	if (number == FMT_BEFORE || number == FMT_AFTER)
		text_printf(out, "; launched %s the iterations",
			    number == FMT_BEFORE ? "before" : "after");
	else
		text_printf(out, "; of iteration %" PRId64, number);
}

/* Prints the full name, or the short name if that is very long. */
static void print_title(const struct print *p, const struct fmt_svg_box *b)
{
	scoped(text_done) struct text brief = {0};
	fmt_str number = fmt_template(p->names, b->template)->name;
	size_t len;
	const char *name = fmt_string(p->names, number, &len);

	text_str(p->out, "<title>");
	if (len > LONG_TITLE) {
		fmt_brief_put(p->brief, number, LONG_TITLE, &brief);
		name = brief.data ? brief.data : "";
		len = brief.len;
	}
	fmt_svg_string(p->out, name, len, SIZE_MAX);
	text_printf(p->out, "\n%s at %s", fmt_time(b->duration_ns).s,
		    fmt_time((int64_t)((uint64_t)b->start_ns - (uint64_t)p->scale->from_ns)).s);
	if (b->waiting_ns > 0)
		text_printf(p->out, "; %s of it waiting for the last GPU",
			    fmt_time(b->waiting_ns).s);
	if (is_near(b->ink))
		put_iteration(b->iteration, p->out);
	text_str(p->out, "</title>");
}

static void print_box(const struct print *p, const struct fmt_svg_box *b)
{
	const struct fmt_svg_scale *scale = p->scale;
	double from = fmt_svg_x(scale, b->start_ns), right = scale->left + scale->width;
	double per_ns = scale->width / ((double)scale->to_ns - (double)scale->from_ns);
	double to = from + (double)b->duration_ns * per_ns;
	double middle = from + (is_near(b->ink) ? 0 : (double)b->waiting_ns * per_ns);
	fmt_str name = fmt_template(p->names, b->template)->name;

	from = from < scale->left ? scale->left : from;
	middle = middle < from ? from : middle;
	to = to > right ? right : to;
	middle = middle > to ? to : middle;
	text_str(p->out, "<g>");
	print_title(p, b);
	if (middle > from)
		fmt_svg_rect(classes[FMT_INK_WAITING], from, p->top, middle - from, p->height,
			     p->out);
	if (to > middle)
		fmt_svg_rect(classes[b->ink], middle, p->top, to - middle, p->height, p->out);
	/* In the larger part, where the label has one background colour. */
	if (middle - from > to - middle)
		print_label(p, name, false, from, middle - from);
	else
		print_label(p, name, b->ink != FMT_INK_COMPUTE, middle, to - middle);
	text_str(p->out, "</g>\n");
}

void fmt_svg_track_print(const struct fmt_svg_track *l, const struct fmt_svg_scale *scale,
			 const struct fmt_names *names, const struct fmt_brief *brief, double top,
			 double height, struct text *out)
{
	const struct print p = {scale, names, brief, top, height, out};

	print_columns(l, scale, top, height, out);
	for (size_t i = 0; i < l->n_boxes; i++)
		print_box(&p, &l->boxes[i]);
}
