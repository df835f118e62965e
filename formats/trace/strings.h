/* SPDX-License-Identifier: Apache-2.0 */

/* Interned strings: each text is stored once and has a number. Number 0 is the empty string.
 * Strings do not move or change. One thread, or several that only read. */
#pragma once

#include "base/arena.h"
#include "formats/trace/hash.h"

struct fmt_interned {
	const char *s; /* NUL-terminated; may contain NULs */
	uint32_t len;
};

struct fmt_strings {
	struct fmt_interned *strings; /* owned; numbers are indexes */
	size_t n, cap;
	struct fmt_hash_table table;
	struct arena arena; /* of the texts */
};

/* Adds the empty string. Returns 0 or -ENOMEM; call fmt_strings_done() in either case. */
int fmt_strings_init(struct fmt_strings *t);
void fmt_strings_done(struct fmt_strings *t);

/* Finds a string or adds a copy of it, and returns its number. Returns 0, -ENOMEM, or -EOVERFLOW
 * for too many strings or one of 4 GiB. */
int fmt_strings_add(struct fmt_strings *t, const char *s, size_t len, uint32_t *ret);

/* Returns the number of a string, or 0 if it was not added. */
uint32_t fmt_strings_find(const struct fmt_strings *t, const char *s, size_t len);

/* Returns 1 if two texts of `len` bytes, 8 to 16, are equal. */
static inline int fmt_same_words(const char *a, const char *b, size_t len)
{
	uint64_t x, y, v, w;

	memcpy(&x, a, 8);
	memcpy(&y, b, 8);
	memcpy(&v, a + len - 8, 8);
	memcpy(&w, b + len - 8, 8);
	return x == y && v == w;
}

/* memcmp() == 0, optimised for short texts. */
static inline int fmt_same_bytes(const char *a, const char *b, size_t len)
{
	if (len < 8) {
		while (len > 0 && a[len - 1] == b[len - 1])
			len--;
		return len == 0;
	}
	if (len <= 16)
		return fmt_same_words(a, b, len);
	if (len <= 32)
		return fmt_same_words(a, b, 16) && fmt_same_words(a + len - 16, b + len - 16, 16);
	return memcmp(a, b, len) == 0;
}

/* Returns 1 if `number` is the text `s`. */
static inline int fmt_strings_is(const struct fmt_strings *t, uint32_t number, const char *s,
				 size_t len)
{
	return number < t->n && t->strings[number].len == len &&
	       fmt_same_bytes(t->strings[number].s, s, len);
}
