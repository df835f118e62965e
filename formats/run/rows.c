/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/rows.h"

#include "base/array.h"
#include "formats/trace/store/cursor.h"

#define LAST(block, kind) ((block)->last[(kind) % sizeof((block)->last)])

void fmt_rows_done(struct fmt_rows *r)
{
	text_done(&r->bytes);
	free(r->blocks);
	free(r->open.values);
	*r = (struct fmt_rows){0};
}

void fmt_rows_reader_done(struct fmt_rows_reader *r)
{
	free(r->block.values);
	*r = (struct fmt_rows_reader){0};
}

static size_t start_of(const struct fmt_rows_block *b, uint32_t row)
{
	return row > 0 ? b->ends[row - 1] : 0;
}

/* The last row of the kind; b->n: no row. */
static uint32_t before(const struct fmt_rows_block *b, uint32_t kind)
{
	uint32_t last = LAST(b, kind);

	return last > 0 && b->kinds[last - 1] == kind ? last - 1 : b->n;
}

static void clear(struct fmt_rows_block *b)
{
	b->n = 0;
	memset(b->last, 0, sizeof(b->last));
}

/* One row more, of n values: where they go, behind those of the others; NULL without memory. */
static int64_t *extend(struct fmt_rows_block *b, uint32_t kind, size_t n)
{
	size_t start = start_of(b, b->n);

	if (array_reserve(&b->values, start + n + 1, &b->cap) < 0)
		return NULL;
	b->kinds[b->n] = kind;
	b->ends[b->n++] = start + n;
	LAST(b, kind) = (uint8_t)b->n;
	return b->values + start;
}

/* ---- adding: the kind; how many values, where it is the block's first of it; then, for each eight
 * values, which of them are others than before, and by how much */

static void put_eight(struct text *bytes, const int64_t *values, const int64_t *old, size_t n)
{
	unsigned changed = 0;

	for (size_t i = 0; i < n; i++)
		changed |= (unsigned)(values[i] != (old ? old[i] : 0)) << i;
	fmt_put_u8(bytes, (uint8_t)changed);
	for (size_t i = 0; i < n; i++)
		if (changed >> i & 1)
			fmt_put_svarint(bytes, fmt_sub(values[i], old ? old[i] : 0));
}

static int begin_block(struct fmt_rows *r)
{
	if (array_reserve(&r->blocks, r->n_blocks + 1, &r->blocks_cap) < 0)
		return -ENOMEM;
	r->blocks[r->n_blocks++] = r->bytes.len;
	clear(&r->open);
	return 0;
}

int fmt_rows_add(struct fmt_rows *r, uint32_t kind, const int64_t *values, size_t n, uint32_t *ret)
{
	struct fmt_rows_block *b = &r->open;
	const int64_t *old = NULL;
	int64_t *kept;
	uint32_t last;

	if (r->n_blocks == UINT32_MAX / FMT_ROWS_BLOCK && b->n == FMT_ROWS_BLOCK)
		return -EOVERFLOW;
	if ((r->n_blocks == 0 || b->n == FMT_ROWS_BLOCK) && begin_block(r) < 0)
		return -ENOMEM;
	last = before(b, kind);
	*ret = (uint32_t)(r->n_blocks - 1) * FMT_ROWS_BLOCK + b->n;
	fmt_put_varint(&r->bytes, kind);
	if (last == b->n)
		fmt_put_varint(&r->bytes, n);
	kept = extend(b, kind, n);
	if (!kept)
		return -ENOMEM;
	if (last + 1 < b->n)
		old = b->values + start_of(b, last);
	for (size_t i = 0; i < n; i += 8)
		put_eight(&r->bytes, values + i, old ? old + i : NULL, n - i < 8 ? n - i : 8);
	if (n > 0)
		memcpy(kept, values, n * sizeof(*values));
	return r->bytes.error;
}

/* ---- reading */

static void get_eight(struct fmt_cursor *c, int64_t *values, const int64_t *old, size_t n)
{
	unsigned changed = fmt_u8(c);

	for (size_t i = 0; i < n; i++) {
		values[i] = old ? old[i] : 0;
		if (changed >> i & 1)
			values[i] = fmt_add(values[i], fmt_svarint(c));
	}
}

static int get_row(struct fmt_cursor *c, struct fmt_rows_block *b)
{
	uint32_t kind = (uint32_t)fmt_varint(c), last = before(b, kind);
	size_t n = last == b->n ? fmt_varint(c) : b->ends[last] - start_of(b, last);
	int64_t *values = extend(b, kind, n);
	const int64_t *old = NULL;

	if (!values)
		return -ENOMEM;
	if (last + 1 < b->n)
		old = b->values + start_of(b, last);
	for (size_t i = 0; i < n; i += 8)
		get_eight(c, values + i, old ? old + i : NULL, n - i < 8 ? n - i : 8);
	return 0;
}

static int get_block(struct fmt_rows_reader *r, size_t block)
{
	const struct fmt_rows *rows = r->rows;
	size_t from = rows->blocks[block];
	size_t to = block + 1 < rows->n_blocks ? rows->blocks[block + 1] : rows->bytes.len;
	struct fmt_cursor c = fmt_cursor(rows->bytes.data + from, to - from);
	int e = 0;

	r->at = 0;
	clear(&r->block);
	while (fmt_left(&c) > 0 && e == 0)
		e = get_row(&c, &r->block);
	if (e == 0)
		r->at = block + 1;
	return e;
}

int fmt_rows_read(struct fmt_rows_reader *r, uint32_t row, const int64_t **ret)
{
	size_t block = row / FMT_ROWS_BLOCK;
	int e = r->at == block + 1 ? 0 : get_block(r, block);

	if (e == 0)
		*ret = r->block.values + start_of(&r->block, row % FMT_ROWS_BLOCK);
	return e;
}
