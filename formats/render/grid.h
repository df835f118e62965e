/* SPDX-License-Identifier: Apache-2.0 */

/* Columns of text for people: cells are collected, then laid out so that each column is as wide as
 * its widest cell. And the forms in which people read numbers.
 *
 *     struct fmt_grid g = {.columns = "rl"};       one letter a column: l left, r right
 *     fmt_grid_cell(&g, "%d", 1); fmt_grid_cell(&g, "one");
 *     fmt_grid_print(&g, out);                     rows fill up as cells come; empties g
 *     fmt_grid_done(&g);
 *
 * Not thread-safe. Running out of memory shows as out->error.
 */
#pragma once

#include "base/text.h"

#include <stdbool.h>

struct fmt_grid {
	const char *columns;
	struct text cells; /* each ended by a NUL */
	size_t n;
	bool head; /* the first row is a heading: printed dim where the output takes colours */
};

__attribute__((format(printf, 2, 3))) void fmt_grid_cell(struct fmt_grid *g, const char *format,
							 ...);
/* A cell of milliseconds with three decimals. */
void fmt_grid_ms(struct fmt_grid *g, double ns);

/* A cell of bytes that came from a trace: made harmless for a terminal, and cut to `most`
 * characters. */
void fmt_grid_bytes(struct fmt_grid *g, const char *s, size_t len, size_t most);

/* Cells for numbers: 1,234,567; 45.2 ms; 1.23 MB; 61.2 %. */
void fmt_grid_count(struct fmt_grid *g, uint64_t v);
void fmt_grid_time(struct fmt_grid *g, int64_t ns);
void fmt_grid_size(struct fmt_grid *g, uint64_t bytes);
void fmt_grid_share(struct fmt_grid *g, int64_t part, int64_t whole);

/* `colour`: escape codes of terminals may be used. */
void fmt_grid_print(struct fmt_grid *g, struct text *out, bool colour);
void fmt_grid_done(struct fmt_grid *g);

/* The same forms, appended to a text. */
void fmt_text_count(struct text *t, uint64_t v);
/* "1 rank", "2,048 ranks": `one` for a count of 1, else `many`. */
void fmt_text_counted(struct text *t, uint64_t v, const char *one, const char *many);
void fmt_text_time(struct text *t, int64_t ns);
void fmt_text_size(struct text *t, uint64_t bytes);
/* Bytes of a trace, safe for a terminal: bytes that are not printable UTF-8 are shown as \xNN. */
void fmt_text_harmless(struct text *t, const char *s, size_t len, size_t most);
