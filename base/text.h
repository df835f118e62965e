/* SPDX-License-Identifier: Apache-2.0 */

/* Text built piece by piece: used to render every report, table, timeline and mounted file.
 *
 * A text grows in memory; or, with `flush`, is written out whenever it has `limit` bytes, so that
 * output of any length needs a bounded buffer. The first error (out of memory, a failed flush) is
 * stored in `error` as a negative errno, and later calls do nothing: a renderer checks once, at its
 * end. Not thread-safe. */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
	char *data; /* owned; not terminated */
	size_t len, cap;
	size_t limit;		      /* flush at this length */
	uint64_t flushed;	      /* bytes flushed before data[0] */
	int (*flush)(struct text *t); /* may be NULL; called with len > 0, returns 0 or -errno */
	void *context;		      /* for flush() */
	int error;
};

static inline void text_done(struct text *t)
{
	free(t->data);
	memset(t, 0, sizeof(*t));
}

/* Flushes the rest, at the end of rendering. Returns t->error. */
static inline int text_flush(struct text *t)
{
	if (!t->error && t->flush && t->len > 0) {
		t->error = t->flush(t);
		t->flushed += t->len;
		t->len = 0;
	}
	return t->error;
}

/* Reserves space for `n` more bytes. Returns its address, or NULL. The caller adds the number of
 * bytes written to t->len. */
static inline char *text_reserve(struct text *t, size_t n)
{
	size_t next;
	char *grown;

	if (t->error)
		return NULL;
	if (t->flush && t->len >= t->limit && text_flush(t) < 0)
		return NULL;
	if (t->cap - t->len >= n)
		return t->data + t->len;
	next = t->cap * 2 + n + 256;
	grown = realloc(t->data, next);
	if (!grown) {
		t->error = -ENOMEM;
		return NULL;
	}
	t->data = grown;
	t->cap = next;
	return t->data + t->len;
}

static inline void text_bytes(struct text *t, const char *s, size_t n)
{
	char *at = n > 0 ? text_reserve(t, n) : NULL;

	if (at) {
		memcpy(at, s, n);
		t->len += n;
	}
}

static inline void text_str(struct text *t, const char *s)
{
	text_bytes(t, s, strlen(s));
}

static inline void text_char(struct text *t, char c)
{
	char *at = text_reserve(t, 1);

	if (at) {
		*at = c;
		t->len++;
	}
}

/* Writes the decimal digits of `v`, right-aligned before `end`; returns the first. */
static inline char *text_digits(char *end, uint64_t v)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";

	while (v >= 100000000) {
		/* Eight digits at once: as two numbers of four digits side by side, four of two,
		 * then as eight of one. Times 10486 / 2^20 is by 100, times 103 / 2^10 by 10. */
		uint64_t x = v % 100000000, high;

		x = x / 10000 | x % 10000 << 32;
		high = x * 10486 >> 20 & 0x0000007f0000007f;
		x = high | (x - high * 100) << 16;
		high = x * 103 >> 10 & 0x000f000f000f000f;
		x = (high | (x - high * 10) << 8) + 0x3030303030303030;
		end -= 8;
		memcpy(end, &x, 8); /* little-endian, as all hosts of GPUs are */
		v /= 100000000;
	}
	while (v >= 100) {
		end -= 2;
		memcpy(end, pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (v >= 10) {
		end -= 2;
		memcpy(end, pairs + v * 2, 2);
	} else {
		*--end = (char)('0' + v);
	}
	return end;
}

static inline unsigned text_u64_length(uint64_t v)
{
	static const uint64_t powers[20] = {0,
					    10,
					    100,
					    1000,
					    10000,
					    100000,
					    1000000,
					    10000000,
					    100000000,
					    1000000000,
					    10000000000,
					    100000000000,
					    1000000000000,
					    10000000000000,
					    100000000000000,
					    1000000000000000,
					    10000000000000000,
					    100000000000000000,
					    1000000000000000000,
					    10000000000000000000u};
	unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1);
	unsigned n = bits * 1233 >> 12; /* 1233 / 4096 is log10(2), a little less */

	return n + 1 - (v < powers[n]);
}

/* These functions write at `at`, where the caller has reserved space, and return the end: for lines
 * with many small fields. */
#define TEXT_NUMBER 24 /* bytes that any number fits into */

static inline char *text_put(char *at, const char *s, size_t n)
{
	memcpy(at, s, n);
	return at + n;
}

static inline char *text_put_u64(char *at, uint64_t v)
{
	char *end = at + text_u64_length(v);

	text_digits(end, v);
	return end;
}

static inline char *text_put_i64(char *at, int64_t v)
{
	if (v < 0)
		*at++ = '-';
	return text_put_u64(at, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* Writes `ns` in microseconds with exactly three decimals, as in 1234.567. */
static inline char *text_put_us(char *at, int64_t ns)
{
	uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, us = v / 1000;
	unsigned rest = (unsigned)(v - us * 1000);

	if (ns < 0)
		*at++ = '-';
	at = text_put_u64(at, us);
	*at++ = '.';
	*at++ = (char)('0' + rest / 100);
	*at++ = (char)('0' + rest / 10 % 10);
	*at++ = (char)('0' + rest % 10);
	return at;
}

/* Ends a write that began with text_reserve(); `at` is its end, or NULL if that failed. */
static inline void text_end(struct text *t, const char *at)
{
	if (at)
		t->len = (size_t)(at - t->data);
}

static inline void text_u64(struct text *t, uint64_t v)
{
	char *at = text_reserve(t, TEXT_NUMBER);

	text_end(t, at ? text_put_u64(at, v) : NULL);
}

static inline void text_i64(struct text *t, int64_t v)
{
	char *at = text_reserve(t, TEXT_NUMBER);

	text_end(t, at ? text_put_i64(at, v) : NULL);
}

/* Appends bytes as pairs of hex digits. */
static inline void text_hex(struct text *t, const uint8_t *bytes, size_t n)
{
	char *at = text_reserve(t, 2 * n);

	for (size_t i = 0; at && i < n; i++) {
		*at++ = "0123456789abcdef"[bytes[i] >> 4];
		*at++ = "0123456789abcdef"[bytes[i] & 15];
	}
	t->len += at ? 2 * n : 0;
}

/* Appends text formatted as by printf(); slower than the other functions. */
__attribute__((format(printf, 2, 3))) static inline void text_printf(struct text *t,
								     const char *format, ...)
{
	char *at = text_reserve(t, 64);
	size_t room = at ? t->cap - t->len : 0;
	va_list args;
	int n;

	if (!at)
		return;
	va_start(args, format);
	n = vsnprintf(at, room, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n >= room) {
		at = text_reserve(t, (size_t)n + 1);
		if (!at)
			return;
		va_start(args, format);
		vsnprintf(at, (size_t)n + 1, format, args);
		va_end(args);
	}
	t->len += n > 0 ? (size_t)n : 0;
}

/* As printf's "%.*f", with up to 3 decimals. */
static inline void text_fixed(struct text *t, double v, unsigned decimals)
{
	static const unsigned powers[] = {1, 10, 100, 1000};
	double scaled = v * powers[decimals];
	uint64_t n = scaled >= 0 && scaled < 1e9 ? (uint64_t)scaled : 0;
	double above = scaled - (double)n;
	char buf[24], *at = buf + sizeof(buf);

	/* Near a tie, only printf() rounds by all digits of the binary number. */
	if (!(scaled >= 0 && scaled < 1e9) || (above > 0.499999 && above < 0.500001)) {
		text_printf(t, "%.*f", (int)decimals, v);
		return;
	}
	n += above > 0.5;
	for (unsigned i = 0; i < decimals; i++, n /= 10)
		*--at = (char)('0' + n % 10);
	if (decimals > 0)
		*--at = '.';
	at = text_digits(at, n);
	text_bytes(t, at, (size_t)(buf + sizeof(buf) - at));
}
