/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/columns.h"

#include "base/array.h"

/* ---- reading ---- */

/* Each entry of the directory takes at least this many bytes. */
#define ENTRY_BYTES 3

int fmt_columns_get(struct fmt_cursor in, struct fmt_columns *ret)
{
	uint64_t n = fmt_count(&in, ENTRY_BYTES);
	scoped(free_ptr) struct fmt_column *columns = calloc(n + 1, sizeof(*columns));
	scoped(free_ptr) uint64_t *bytes = calloc(n + 1, sizeof(*bytes));

	if (!columns || !bytes)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		columns[i].id = fmt_varint(&in);
		columns[i].kind = fmt_u8(&in);
		columns[i].base = columns[i].kind >> 4;
		columns[i].kind &= 15;
		if (columns[i].kind >= FMT_COLUMN_KINDS || columns[i].base >= FMT_COLUMN_BASES ||
		    (i > 0 && columns[i].id <= columns[i - 1].id))
			return -EBADMSG;
	}
	for (uint64_t i = 0; i < n; i++)
		bytes[i] = fmt_varint(&in);
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *at = fmt_bytes(&in, bytes[i]);

		if (!at)
			return -EBADMSG;
		columns[i].in = fmt_cursor(at, bytes[i]);
	}
	if (in.bad || fmt_left(&in) > 0)
		return -EBADMSG;
	ret->columns = take(columns);
	ret->n = n;
	return 0;
}

void fmt_columns_done(struct fmt_columns *c)
{
	free(c->columns);
}

struct fmt_column *fmt_columns_find(const struct fmt_columns *c, uint64_t id)
{
	size_t at = array_bound(i, 0, c->n, c->columns[i].id < id);

	return at < c->n && c->columns[at].id == id ? &c->columns[at] : NULL;
}

int fmt_columns_end(const struct fmt_columns *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->columns[i].in.bad || fmt_left(&c->columns[i].in) > 0)
			return -EBADMSG;
	return 0;
}

/* ---- writing ---- */

void fmt_columns_out_done(struct fmt_columns_out *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->columns[i]->values);
		free(c->columns[i]);
	}
	free(c->columns);
}

struct fmt_column_out *fmt_column_out(struct fmt_columns_out *c, uint64_t id)
{
	size_t at = array_bound(i, 0, c->n, c->columns[i]->id < id);
	struct fmt_column_out *o;

	if (at < c->n && c->columns[at]->id == id)
		return c->columns[at];
	o = calloc(1, sizeof(*o));
	if (!o || array_reserve(&c->columns, c->n + 1, &c->cap) < 0) {
		free(o);
		c->error = -ENOMEM;
		return NULL;
	}
	memmove(&c->columns[at + 1], &c->columns[at], (c->n - at) * sizeof(*c->columns));
	c->n++;
	c->columns[at] = o;
	o->id = id;
	o->fixed_base = -1;
	return o;
}

/* Values; most slices have fewer events. Not a power of two: the columns are filled side by side,
 * and their ends must not share a set of the cache. */
#define FIRST_CAP 2000

int fmt_column_grow(struct fmt_column_out *o)
{
	size_t cap = o->cap ? o->cap * 2 : FIRST_CAP;
	int64_t *both = malloc(2 * cap * sizeof(*both));

	if (!both)
		return o->error = -ENOMEM;
	if (o->n > 0) {
		memcpy(both, o->values, o->n * sizeof(*both));
		memcpy(both + cap, o->from_class, o->n * sizeof(*both));
	}
	free(o->values);
	o->values = both;
	o->from_class = both + cap;
	o->cap = cap;
	return 0;
}

void fmt_columns_add(struct fmt_columns_out *c, uint64_t id, int64_t v)
{
	struct fmt_column_out *o = fmt_column_out(c, id);

	if (o)
		fmt_column_add_plain(o, v);
}

/* Estimated size of an integer, in quarters of a byte, beyond that of 0: others than 0 also break
 * repetition. A byte holds seven bits; 37 / 256 is a seventh, exactly enough for up to 64 bits. */
static uint64_t cost_of(int64_t v)
{
	uint64_t folded = fmt_fold(v);

	return folded ? 1 + 4 * ((63 - (uint32_t)__builtin_clzll(folded)) * 37 >> 8) : 0;
}

/* A varint's longest form, in bytes. */
#define VARINT_MAX 10

uint8_t fmt_column_put_integers(const int64_t *v, size_t n, struct text *out)
{
	char *at = text_reserve(out, n * VARINT_MAX);
	int64_t all = 0; /* bits set in any of them */
	uint8_t kind;

	for (size_t i = 0; i < n; i++)
		all |= v[i];
	kind = all < 0 ? FMT_COLUMN_SVARINT : all > UINT8_MAX ? FMT_COLUMN_VARINT : FMT_COLUMN_BYTE;
	for (size_t i = 0; at && kind == FMT_COLUMN_BYTE && i < n; i++)
		*at++ = (char)v[i];
	for (size_t i = 0; at && kind != FMT_COLUMN_BYTE && i < n; i++) {
		uint64_t rest = kind == FMT_COLUMN_SVARINT ? fmt_fold(v[i]) : (uint64_t)v[i];

		for (; rest >= 0x80; rest >>= 7)
			*at++ = (char)(rest | 0x80);
		*at++ = (char)rest;
	}
	text_end(out, at);
	return kind;
}

/* The cost of the values with this base; some higher cost than `most` if it exceeds that. */
static uint64_t cost_of_base(const struct fmt_column_out *o, enum fmt_column_base base,
			     uint64_t most)
{
	const int64_t *v = base == FMT_BASE_CLASS ? o->from_class : o->values;
	uint64_t cost = 0;
	int64_t last = 0;

	for (size_t i = 0; i < o->n && cost <= most; i++) {
		cost += cost_of(fmt_sub(v[i], last));
		last = base == FMT_BASE_LAST ? v[i] : 0;
	}
	return cost;
}

/* Of equally cheap bases, the first. */
static enum fmt_column_base cheapest(const struct fmt_column_out *o)
{
	enum fmt_column_base best = FMT_BASE_CLASS;
	uint64_t least = UINT64_MAX;

	if (o->fixed_base >= 0)
		return (enum fmt_column_base)o->fixed_base;
	for (int b = FMT_BASE_CLASS; b >= FMT_BASE_ZERO; b--) {
		uint64_t cost = cost_of_base(o, (enum fmt_column_base)b, least);

		if (cost <= least) {
			best = (enum fmt_column_base)b;
			least = cost;
		}
	}
	return best;
}

static int all_zero(const struct fmt_column_out *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->values[i] != 0)
			return 0;
	return 1;
}

/* Turns values into differences from the value before. */
static void subtract_last(int64_t *v, size_t n)
{
	for (size_t i = n; i > 1; i--)
		v[i - 1] = fmt_sub(v[i - 1], v[i - 2]);
}

int fmt_columns_put(struct fmt_columns_out *c, uint64_t may_omit, struct text *out)
{
	scoped(text_done) struct text directory = {0}, lengths = {0}, bytes = {0};
	uint64_t n = 0;

	for (size_t i = 0; i < c->n && !c->error; i++) {
		struct fmt_column_out *o = c->columns[i];
		size_t before = bytes.len;
		enum fmt_column_base base;
		uint8_t kind;

		c->error = o->error;
		if (o->n == 0 || (o->id < may_omit && all_zero(o)))
			continue;
		base = cheapest(o);
		if (base == FMT_BASE_LAST)
			subtract_last(o->values, o->n);
		kind = fmt_column_put_integers(base == FMT_BASE_CLASS ? o->from_class : o->values,
					       o->n, &bytes);
		fmt_put_varint(&directory, o->id);
		fmt_put_u8(&directory, (uint8_t)(kind | base << 4));
		fmt_put_varint(&lengths, bytes.len - before);
		n++;
	}
	fmt_put_varint(out, n);
	text_bytes(out, directory.data, directory.len);
	text_bytes(out, lengths.data, lengths.len);
	text_bytes(out, bytes.data, bytes.len);
	return c->error ?: directory.error ?: lengths.error ?: bytes.error ?: out->error;
}
