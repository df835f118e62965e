/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/grid.h"

#include "formats/trace/json.h"

#define GAP 2	 /* between columns */
#define INDENT 2 /* before the first */
#define MAX_COLUMNS 32

/* ---- formatted numbers */

struct fmt_number_text fmt_plural(uint64_t v, const char *one, const char *many)
{
	char buf[32] = "", *at = buf + sizeof(buf) - 1;
	const char *unit = v == 1 ? one : many;
	struct fmt_number_text ret;

	for (int digits = 0; v || digits == 0; digits++, v /= 10) {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + v % 10);
	}
	snprintf(ret.s, sizeof(ret.s), "%s%s%s", at, *unit ? " " : "", unit);
	return ret;
}

struct fmt_number_text fmt_commas(uint64_t v)
{
	return fmt_plural(v, "", "");
}

/* Formats `v` in the largest unit that gives at least 1, with three digits. */
static struct fmt_number_text scaled(double v, const char *const *units, int n)
{
	const char *sign = v < 0 ? "-" : "";
	struct fmt_number_text ret;
	int i = 0;

	for (v = v < 0 ? -v : v; i < n - 1 && v >= 999.5; i++)
		v /= 1000;
	snprintf(ret.s, sizeof(ret.s), "%s%.*f %s", sign,
		 i == 0 || v >= 99.95 ? 0
		 : v >= 9.995	      ? 1
				      : 2,
		 v, units[i]);
	return ret;
}

struct fmt_number_text fmt_time(int64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};

	return scaled((double)ns, units, 4);
}

struct fmt_number_text fmt_size(uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};

	return scaled((double)bytes, units, 7);
}

/* The length of the printable character at `s`, or 0. */
static size_t printable(const char *s, size_t left)
{
	const unsigned char *u = (const unsigned char *)s;

	if (u[0] < ' ' || u[0] == 0x7f)
		return 0;
	if (left > 1 && u[0] == 0xc2 && u[1] < 0xa0)
		return 0;
	return fmt_utf8_length(s, left);
}

void fmt_text_sanitised(struct text *t, const char *s, size_t len, size_t most)
{
	for (size_t i = 0, shown = 0; i < len; shown++) {
		size_t n = printable(s + i, len - i);

		if (shown + 1 >= most && i + (n ? n : 1) < len) {
			text_str(t, "…");
			return;
		}
		if (n)
			text_bytes(t, s + i, n);
		else
			text_printf(t, "\\x%02x", (unsigned char)s[i]);
		i += n ? n : 1;
	}
}

/* ---- cells */

static void end_cell(struct fmt_grid *g)
{
	text_char(&g->cells, 0);
	g->n++;
}

void fmt_grid_cell(struct fmt_grid *g, const char *format, ...)
{
	char buf[256];
	va_list args;

	va_start(args, format);
	vsnprintf(buf, sizeof(buf), format, args);
	va_end(args);
	text_str(&g->cells, buf);
	end_cell(g);
}

void fmt_grid_head(struct fmt_grid *g, const char *names)
{
	g->head = true;
	for (;; names++) {
		size_t len = strcspn(names, "|");

		text_bytes(&g->cells, names, len);
		end_cell(g);
		names += len;
		if (!*names)
			return;
	}
}

void fmt_grid_ms(struct fmt_grid *g, double ns)
{
	fmt_grid_cell(g, "%.3f", ns / 1e6);
}

void fmt_grid_bytes(struct fmt_grid *g, const char *s, size_t len, size_t most)
{
	fmt_text_sanitised(&g->cells, s, len, most);
	end_cell(g);
}

void fmt_grid_count(struct fmt_grid *g, uint64_t v)
{
	fmt_grid_cell(g, "%s", fmt_commas(v).s);
}

void fmt_grid_time(struct fmt_grid *g, int64_t ns)
{
	fmt_grid_cell(g, "%s", fmt_time(ns).s);
}

void fmt_grid_size(struct fmt_grid *g, uint64_t bytes)
{
	fmt_grid_cell(g, "%s", fmt_size(bytes).s);
}

void fmt_grid_share(struct fmt_grid *g, int64_t part, int64_t whole)
{
	if (whole > 0)
		fmt_grid_cell(g, "%.1f %%", 100.0 * (double)part / (double)whole);
	else
		fmt_grid_cell(g, "-");
}

/* ---- layout */

/* Returns the number of characters; a multi-byte character counts once, a colour code not at
 * all. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++) {
		while (*s == '\033' && strchr(s, 'm'))
			s = strchr(s, 'm') + 1;
		if (!*s)
			break;
		n += (*s & 0xc0) != 0x80;
	}
	return n;
}

static void put_spaces(struct text *t, size_t n)
{
	while (n-- > 0)
		text_char(t, ' ');
}

static void print_row(const struct fmt_grid *g, const char **cell, size_t n, const size_t *widths,
		      struct text *out)
{
	size_t due = INDENT;

	for (size_t i = 0; i < n; i++) {
		size_t pad = widths[i] - width_of(*cell);

		if (g->columns[i] == 'r') {
			due += pad;
			pad = 0;
		}
		put_spaces(out, due);
		text_str(out, *cell);
		due = pad + GAP;
		*cell += strlen(*cell) + 1;
	}
	text_char(out, '\n');
}

void fmt_grid_print(struct fmt_grid *g, struct text *out, bool colour)
{
	size_t n = strlen(g->columns), widths[MAX_COLUMNS] = {0};
	const char *cell = g->cells.data;

	if (g->cells.error && !out->error)
		out->error = g->cells.error;
	if (out->error || n == 0 || n > MAX_COLUMNS)
		return;
	for (size_t i = 0; i < g->n; i++, cell += strlen(cell) + 1) {
		size_t w = width_of(cell);

		if (w > widths[i % n])
			widths[i % n] = w;
	}
	cell = g->cells.data;
	for (size_t i = 0; i + n <= g->n; i += n) {
		bool dim = colour && g->head && i == 0;

		if (dim)
			text_str(out, "\033[2m");
		print_row(g, &cell, n, widths, out);
		if (dim)
			text_str(out, "\033[0m");
	}
	g->cells.len = 0;
	g->n = 0;
}

void fmt_grid_done(struct fmt_grid *g)
{
	text_done(&g->cells);
	g->n = 0;
}
