/* SPDX-License-Identifier: Apache-2.0 */

/* Reads untrusted bytes through a cursor that cannot overrun: a read beyond the end returns 0 and
 * sets `bad`, so that a decoder checks once at the end. The fmt_put functions write the same
 * encodings, on top of base/text.h. Integers are little-endian; a varint has seven bits per byte,
 * low bits first, at most ten bytes; a signed varint is zigzag-encoded (0, -1, 1, -2 ...). */
#pragma once

#include "base/text.h"
#include "formats/trace/wrap.h"

#include <stdint.h>
#include <string.h>

struct fmt_cursor {
	const uint8_t *base, *at, *end;
	int bad; /* a read was beyond the end */
};

static inline struct fmt_cursor fmt_cursor(const void *data, size_t len)
{
	return (struct fmt_cursor){.base = data, .at = data, .end = (const uint8_t *)data + len};
}

static inline size_t fmt_left(const struct fmt_cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* Returns `n` bytes in place, or NULL. */
static inline const uint8_t *fmt_bytes(struct fmt_cursor *c, uint64_t n)
{
	const uint8_t *at = c->at;

	if (n > fmt_left(c)) {
		c->bad = 1;
		c->at = c->end;
		return NULL;
	}
	c->at += n;
	return at;
}

static inline uint8_t fmt_u8(struct fmt_cursor *c)
{
	if (c->at < c->end)
		return *c->at++;
	c->bad = 1;
	return 0;
}

static inline uint32_t fmt_u32(struct fmt_cursor *c)
{
	const uint8_t *at = fmt_bytes(c, 4);

	return at ? at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24
		  : 0;
}

static inline uint64_t fmt_u64(struct fmt_cursor *c)
{
	uint64_t low = fmt_u32(c);

	return low | (uint64_t)fmt_u32(c) << 32;
}

uint64_t fmt_varint_slow(struct fmt_cursor *c);

static inline uint64_t fmt_varint(struct fmt_cursor *c)
{
	const uint8_t *at = c->at;

	if (at < c->end && *at < 0x80)
		return *c->at++;
	if (fmt_left(c) >= 2 && at[1] < 0x80) {
		c->at += 2;
		return (at[0] & 0x7fu) | (uint64_t)at[1] << 7;
	}
	return fmt_varint_slow(c);
}

static inline int64_t fmt_unfold(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static inline uint64_t fmt_fold(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t fmt_svarint(struct fmt_cursor *c)
{
	return fmt_unfold(fmt_varint(c));
}

/* Reads a count of items of at least `each` bytes in the remaining input; a larger count is invalid
 * and reads as 0. */
static inline uint64_t fmt_count(struct fmt_cursor *c, size_t each)
{
	uint64_t n = fmt_varint(c);

	if (n > fmt_left(c) / (each ? each : 1)) {
		c->bad = 1;
		return 0;
	}
	return n;
}

static inline void fmt_put_u8(struct text *t, uint8_t v)
{
	text_char(t, (char)v);
}

void fmt_put_u32(struct text *t, uint32_t v);
void fmt_put_u64(struct text *t, uint64_t v);
void fmt_put_varint(struct text *t, uint64_t v);

static inline void fmt_put_svarint(struct text *t, int64_t v)
{
	fmt_put_varint(t, fmt_fold(v));
}
