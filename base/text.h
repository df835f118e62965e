/* SPDX-License-Identifier: Apache-2.0 */

/* Text that is made a piece at a time: the one way in which every report, table, timeline and
 * mounted file is rendered.
 *
 * A text grows in memory; or, with `flush`, is handed on whenever `limit` bytes are full, so that
 * output of any length needs a bounded buffer. Running out of memory, or a failing flush, is kept
 * in `error` (a negative errno) and makes the later calls do nothing, so that a renderer checks
 * once, at its end. Not thread-safe.
 */
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
	size_t limit;		      /* flush when this many bytes are there */
	uint64_t flushed;	      /* bytes handed on before data[0] */
	int (*flush)(struct text *t); /* may be NULL; called with len > 0, returns 0 or -errno */
	void *context;		      /* flush's own */
	int error;
};

static inline void text_done(struct text *t)
{
	free(t->data);
	memset(t, 0, sizeof(*t));
}

/* Hands on what is there; for the end of a rendering. Returns t->error. */
static inline int text_flush(struct text *t)
{
	if (!t->error && t->flush && t->len > 0) {
		t->error = t->flush(t);
		t->flushed += t->len;
		t->len = 0;
	}
	return t->error;
}

/* Room for `n` more bytes: where to write them, or NULL. The caller adds what it wrote to t->len.
 */
static inline char *text_room(struct text *t, size_t n)
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
	char *at = n > 0 ? text_room(t, n) : NULL;

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
	char *at = text_room(t, 1);

	if (at) {
		*at = c;
		t->len++;
	}
}

/* The decimal digits of `v`, right-aligned before `end`; returns the first. */
static inline char *text_digits(char *end, uint64_t v)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";

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

static inline void text_u64(struct text *t, uint64_t v)
{
	char buf[20];
	char *at = text_digits(buf + sizeof(buf), v);

	text_bytes(t, at, (size_t)(buf + sizeof(buf) - at));
}

static inline void text_i64(struct text *t, int64_t v)
{
	if (v < 0)
		text_char(t, '-');
	text_u64(t, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* Bytes as pairs of hex digits. */
static inline void text_hex(struct text *t, const uint8_t *bytes, size_t n)
{
	char *at = text_room(t, 2 * n);

	for (size_t i = 0; at && i < n; i++) {
		*at++ = "0123456789abcdef"[bytes[i] >> 4];
		*at++ = "0123456789abcdef"[bytes[i] & 15];
	}
	t->len += at ? 2 * n : 0;
}

/* `ns` in microseconds with exactly three decimals, as in 1234.567. */
static inline void text_us(struct text *t, int64_t ns)
{
	uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char frac[4] = {'.', (char)('0' + v / 100 % 10), (char)('0' + v / 10 % 10),
			(char)('0' + v % 10)};

	if (ns < 0)
		text_char(t, '-');
	text_u64(t, v / 1000);
	text_bytes(t, frac, sizeof(frac));
}

/* printf, for the places that are not hot. */
__attribute__((format(printf, 2, 3))) static inline void text_printf(struct text *t,
								     const char *format, ...)
{
	char *at = text_room(t, 64);
	size_t room = at ? t->cap - t->len : 0;
	va_list args;
	int n;

	if (!at)
		return;
	va_start(args, format);
	n = vsnprintf(at, room, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n >= room) {
		at = text_room(t, (size_t)n + 1);
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

	/* A tie, or nearly one: there printf knows the binary number to its last digit. */
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
