/* SPDX-License-Identifier: Apache-2.0 */

/* Rows of values that are kept by what tells each from the row of its kind before it: arguments of
 * calls repeat, so a call takes a few bytes where its values would take eight each.
 *
 * Rows are numbered from 0 on, as they are added, and are read in any order, at the least cost
 * near each other. All rows of a kind have as many values. One thread; what is read may not be
 * added to meanwhile. Functions return 0 or a negative errno. */
#pragma once

#include "base/text.h"

#define FMT_ROWS_BLOCK 128 /* rows that are read at once */

/* Some rows as they are. */
struct fmt_rows_block {
	uint32_t n;
	uint32_t kinds[FMT_ROWS_BLOCK];
	size_t ends[FMT_ROWS_BLOCK]; /* of their values */
	uint8_t last[64];	     /* 1 + the last row of a kind, by the kind's lowest bits */
	int64_t *values;	     /* owned */
	size_t cap;
};

struct fmt_rows {
	struct text bytes;
	size_t *blocks; /* owned: where each begins */
	size_t n_blocks, blocks_cap;
	struct fmt_rows_block open; /* the last of them */
};

void fmt_rows_done(struct fmt_rows *r);

/* -EOVERFLOW beyond 2^32 - 1 rows. */
int fmt_rows_add(struct fmt_rows *r, uint32_t kind, const int64_t *values, size_t n, uint32_t *ret);

struct fmt_rows_reader {
	const struct fmt_rows *rows;
	size_t at; /* 1 + the block that is there; 0: none */
	struct fmt_rows_block block;
};

void fmt_rows_reader_done(struct fmt_rows_reader *r);

/* The values are valid until the next call. */
int fmt_rows_read(struct fmt_rows_reader *r, uint32_t row, const int64_t **ret);
