/* SPDX-License-Identifier: Apache-2.0 */

/* Text columns for terminals: cells are collected, then printed so that each column is as wide as
 * its widest cell. Also formats numbers for reading.
 *
 *     struct fmt_grid g = {.columns = "rl"};       one letter per column: l left, r right
 *     fmt_grid_cell(&g, "%d", 1); fmt_grid_cell(&g, "one");
 *     fmt_grid_print(&g, out);                     cells fill rows from the left; empties g
 *     fmt_grid_done(&g);
 *
 * Not thread-safe. Out of memory is reported in out->error. */
#pragma once

#include "base/text.h"

#include <stdbool.h>

struct fmt_grid {
	const char *columns;
	struct text cells; /* each ends with a NUL */
	size_t n;
	bool head; /* the first row is a heading, printed dim if colours are enabled */
};

__attribute__((format(printf, 2, 3))) void fmt_grid_cell(struct fmt_grid *g, const char *format,
							 ...);
/* Adds cells of the heading, separated by '|': "GPU|step ms". */
void fmt_grid_head(struct fmt_grid *g, const char *names);

/* Adds a cell in milliseconds with three decimals. */
void fmt_grid_ms(struct fmt_grid *g, double ns);

/* Adds a cell of bytes from a trace: sanitised for a terminal, and cut to `most` characters. */
void fmt_grid_bytes(struct fmt_grid *g, const char *s, size_t len, size_t most);

/* Add cells for numbers: 1,234,567; 45.2 ms; 1.23 MB; 61.2 %. */
void fmt_grid_count(struct fmt_grid *g, uint64_t v);
void fmt_grid_time(struct fmt_grid *g, int64_t ns);
void fmt_grid_size(struct fmt_grid *g, uint64_t bytes);
void fmt_grid_share(struct fmt_grid *g, int64_t part, int64_t whole);

/* `colour`: allows terminal escape codes. */
void fmt_grid_print(struct fmt_grid *g, struct text *out, bool colour);
void fmt_grid_done(struct fmt_grid *g);

/* A number formatted as in such a cell, for printf: `fmt_time(ns).s`. */
struct fmt_number_text {
	char s[160];
};

struct fmt_number_text fmt_commas(uint64_t v);
/* "1 rank", "2,048 ranks": `one` for a count of 1, else `many`. */
struct fmt_number_text fmt_plural(uint64_t v, const char *one, const char *many);
struct fmt_number_text fmt_time(int64_t ns);
struct fmt_number_text fmt_size(uint64_t bytes);

/* Appends bytes of a trace, sanitised for a terminal: bytes other than printable UTF-8 become
 * \xNN. */
void fmt_text_sanitised(struct text *t, const char *s, size_t len, size_t most);
