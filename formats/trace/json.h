/* SPDX-License-Identifier: Apache-2.0 */

/* Writes JSON, valid whatever the input, and reads JSON values in memory (json_scan.c). */
#pragma once

#include "base/text.h"

#include <stdbool.h>

/* Returns true for characters that need no escaping in a string: printable ASCII except '"' and
 * '\\'. */
static inline bool fmt_json_is_plain(char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/* Appends `s` quoted and escaped; bytes that are not UTF-8 become U+FFFD. */
void fmt_json_string(struct text *t, const char *s, size_t len);

/* Returns 1 if `s` is exactly one JSON value (nested at most 64 deep, in valid UTF-8), else 0. */
int fmt_json_valid(const char *s, size_t len);

/* Appends `s` unchanged if it is a JSON value, else as a string. */
void fmt_json_value(struct text *t, const char *s, size_t len);

/* Reads the next element of a valid JSON array; *at is initially its text and is advanced past the
 * element. Returns 1 for an element, 0 at the end or if it is not an array. */
int fmt_json_element(const char **at, const char *end, const char **element, size_t *len);

/* Reads the value of the member `key`, which needs no escaping, of an object. Returns 1, or 0 if it
 * has no such member. */
int fmt_json_member(const char *object, size_t len, const char *key, const char **value,
		    size_t *value_len);

/* Read a string member, as the JSON between its quotes, and return its length, or 0 if there is no
 * such member; an integer member, which wraps at 64 bits. */
size_t fmt_json_member_text(const char *object, size_t len, const char *key, const char **ret);
int64_t fmt_json_member_i64(const char *object, size_t len, const char *key, int64_t otherwise);

/* Reads the next member of a valid JSON object, as fmt_json_element() does for elements. The key is
 * the JSON between its quotes. */
int fmt_json_next_member(const char **at, const char *end, const char **key, size_t *key_len,
			 const char **value, size_t *len);

/* Return 1 and *ret if the value, or the member, is a 64-bit integer as it is written: without
 * leading zeros, and not -0; else 0. */
int fmt_json_integer(const char *value, size_t len, int64_t *ret);
int fmt_json_member_integer(const char *object, size_t len, const char *key, int64_t *ret);

/* Appends a string, given as the JSON between its quotes, with escape sequences resolved; an
 * unpaired surrogate becomes U+FFFD. Returns the number of valid bytes: fewer than `len` if an
 * escape sequence is invalid. */
size_t fmt_json_unescape(struct text *t, const char *s, size_t len);

/* Returns the length of the UTF-8 character at `s`, or 0 if it is invalid; left > 0. */
size_t fmt_utf8_length(const char *s, size_t left);

/* A document with commas and line breaks. Containers at a depth below `broken` have a line per
 * member; deeper ones are on one line.
 *
 *     struct fmt_json j = {.text = t, .broken = 2};
 *     fmt_json_open(&j, NULL, '{');
 *     fmt_json_i64(&j, "gpus", 4);
 *     fmt_json_close(&j, '}');
 *
 * `key` is NULL within arrays and at the top level. */
struct fmt_json {
	struct text *text;
	unsigned broken;
	unsigned depth;
	bool more; /* the container already has a member */
};

void fmt_json_open(struct fmt_json *j, const char *key, char bracket);
void fmt_json_close(struct fmt_json *j, char bracket);
void fmt_json_i64(struct fmt_json *j, const char *key, int64_t v);
void fmt_json_u64(struct fmt_json *j, const char *key, uint64_t v);
/* With `decimals` digits after the point; null if `v` is not finite. */
void fmt_json_double(struct fmt_json *j, const char *key, double v, int decimals);
void fmt_json_bool(struct fmt_json *j, const char *key, bool v);
void fmt_json_str(struct fmt_json *j, const char *key, const char *s);
void fmt_json_bytes(struct fmt_json *j, const char *key, const char *s, size_t len);
/* fmt_json_value() as a member. */
void fmt_json_verbatim(struct fmt_json *j, const char *key, const char *s, size_t len);
