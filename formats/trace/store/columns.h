/* SPDX-License-Identifier: Apache-2.0 */

/* Columns of integers, the building block of slices and names. A set of columns begins with a
 * directory that declares each column's id, kind and base, so that a reader needs no other
 * description of their bytes. doc/format.md, "Columns", is the specification.
 *
 * Reading: fmt_columns_get() checks the directory; then fmt_column_value() returns values in order.
 * A read beyond the end returns 0 and marks the column as bad; fmt_columns_end() reports this, and
 * unread bytes. Writing: values are added one at a time in any order of columns; fmt_columns_put()
 * chooses kind and base and appends directory and bytes. */
#pragma once

#include "base/scope.h"
#include "formats/trace/store/cursor.h"

/* The encoding of integers in a column. */
enum fmt_column_kind {
	FMT_COLUMN_BYTE,    /* one byte each */
	FMT_COLUMN_VARINT,  /* unsigned */
	FMT_COLUMN_SVARINT, /* signed */
	FMT_COLUMN_KINDS,
};

/* The base that is added to an integer of a column. */
enum fmt_column_base {
	FMT_BASE_ZERO,
	FMT_BASE_LAST,	/* the previous value in the column */
	FMT_BASE_CLASS, /* the previous value of the same class: template, or rule */
	FMT_COLUMN_BASES,
};

/* ---- reading ---- */

struct fmt_column {
	uint64_t id;
	uint8_t kind, base;
	struct fmt_cursor in;
	int64_t last;
};

struct fmt_columns {
	struct fmt_column *columns; /* owned; ids ascend */
	size_t n;
};

/* Reads directory and columns, up to the end of `in`; -EBADMSG or -ENOMEM. */
int fmt_columns_get(struct fmt_cursor in, struct fmt_columns *ret);
void fmt_columns_done(struct fmt_columns *c);

/* Returns NULL if there is no such column. */
struct fmt_column *fmt_columns_find(const struct fmt_columns *c, uint64_t id);

/* Returns 0 if every column was read exactly to its end; else -EBADMSG. */
int fmt_columns_end(const struct fmt_columns *c);

static inline int64_t fmt_column_integer(struct fmt_cursor *in, uint8_t kind)
{
	if (kind == FMT_COLUMN_BYTE)
		return fmt_u8(in);
	return kind == FMT_COLUMN_VARINT ? (int64_t)fmt_varint(in) : fmt_svarint(in);
}

/* Returns the next value. *last_of_class is the class's previous value, initially 0, and is
 * updated. A missing column (NULL) returns zeros. */
static inline int64_t fmt_column_value(struct fmt_column *c, int64_t *last_of_class)
{
	int64_t v;

	if (!c)
		return 0;
	v = fmt_column_integer(&c->in, c->kind);
	if (c->base == FMT_BASE_LAST)
		v = c->last = fmt_add(c->last, v);
	else if (c->base == FMT_BASE_CLASS)
		v = *last_of_class = fmt_add(*last_of_class, v);
	return v;
}

/* For a column without classes: FMT_BASE_CLASS means FMT_BASE_LAST. */
static inline int64_t fmt_column_next(struct fmt_column *c)
{
	return c ? fmt_column_value(c, &c->last) : 0;
}

/* ---- writing ---- */

struct fmt_column_out {
	uint64_t id;
	int64_t *values;     /* owned, with from_class behind them */
	int64_t *from_class; /* difference of each value from the previous one of its class */
	size_t n, cap;
	int fixed_base; /* -1: the cheapest */
	int error;
};

struct fmt_columns_out {
	struct fmt_column_out **columns; /* owned; ids ascend */
	size_t n, cap;
	int error;
};

void fmt_columns_out_done(struct fmt_columns_out *c);

/* Returns the column `id`, added if missing; the pointer stays valid. NULL if out of memory, which
 * sets c->error. Set its base before the first value, or fmt_columns_put() chooses one. */
struct fmt_column_out *fmt_column_out(struct fmt_columns_out *c, uint64_t id);

int fmt_column_grow(struct fmt_column_out *o);

/* Appends a value. *last_of_class is as in fmt_column_value(). Sets o->error if out of memory. */
static inline void fmt_column_add(struct fmt_column_out *o, int64_t v, int64_t *last_of_class)
{
	if (o->n == o->cap && fmt_column_grow(o) < 0)
		return;
	o->values[o->n] = v;
	o->from_class[o->n++] = fmt_sub(v, *last_of_class);
	*last_of_class = v;
}

/* Appends a value to a column without classes. */
static inline void fmt_column_add_plain(struct fmt_column_out *o, int64_t v)
{
	int64_t none = 0;

	fmt_column_add(o, v, &none);
}

/* Appends a value to column `id`, which has no classes. */
void fmt_columns_add(struct fmt_columns_out *c, uint64_t id, int64_t v);

/* Appends directory and columns. A column of zeros only is omitted if its id is below
 * `may_omit`. */
int fmt_columns_put(struct fmt_columns_out *c, uint64_t may_omit, struct text *out);

/* Appends integers in the smallest kind that can represent them all, and returns that kind. */
uint8_t fmt_column_put_integers(const int64_t *v, size_t n, struct text *out);
