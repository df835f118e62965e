/* SPDX-License-Identifier: Apache-2.0 */

/* Columns of text for people: cells are collected, then laid out so that each column is as wide as
 * its widest cell. And the forms in which people read numbers.
 *
 *     struct grid g = {.columns = "rl"};       one letter a column: l left, r right
 *     grid_cell(&g, "%d", 1); grid_cell(&g, "one");
 *     grid_print(&g, out);                     rows fill up as cells come; empties g
 *     grid_done(&g);
 *
 * Not thread-safe. Running out of memory shows as out->error.
 */
#pragma once

#include "base/text.h"

#include <stdbool.h>

struct grid {
	const char *columns;
	struct text cells; /* each ended by a NUL */
	size_t n;
	bool head; /* the first row is a heading: printed dim where the output takes colours */
};

__attribute__((format(printf, 2, 3))) void grid_cell(struct grid *g, const char *format, ...);

/* A cell of bytes that came from a trace: made harmless for a terminal, and cut to `most`
 * characters. */
void grid_bytes(struct grid *g, const char *s, size_t len, size_t most);

/* Cells for numbers: 1,234,567; 45.2 ms; 1.23 MB; 61.2 %. */
void grid_count(struct grid *g, uint64_t v);
void grid_time(struct grid *g, int64_t ns);
void grid_size(struct grid *g, uint64_t bytes);
void grid_share(struct grid *g, int64_t part, int64_t whole);

/* `colour`: escape codes of terminals may be used. */
void grid_print(struct grid *g, struct text *out, bool colour);
void grid_done(struct grid *g);

/* The same forms, appended to a text. */
void text_count(struct text *t, uint64_t v);
/* "1 rank", "2,048 ranks": `one` for a count of 1, else `many`. */
void text_counted(struct text *t, uint64_t v, const char *one, const char *many);
void text_time(struct text *t, int64_t ns);
void text_size(struct text *t, uint64_t bytes);
/* Bytes of a trace, harmless for a terminal: what is no printable UTF-8 shows as \xNN. */
void text_harmless(struct text *t, const char *s, size_t len, size_t most);
