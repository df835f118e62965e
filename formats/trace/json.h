/* SPDX-License-Identifier: Apache-2.0 */

/* JSON: what comes out is valid whatever bytes go in. And a look into values that a trace keeps
 * verbatim (json_scan.c). */
#pragma once

#include "base/text.h"

#include <stdbool.h>

/* `s` quoted and escaped; a byte that is no UTF-8 becomes U+FFFD. */
void fmt_json_string(struct text *t, const char *s, size_t len);

/* 1 when `s` is exactly one JSON value (nested at most 64 deep, in valid UTF-8), else 0. */
int fmt_json_valid(const char *s, size_t len);

/* `s` as it is when it is a JSON value, else as a string. */
void fmt_json_value(struct text *t, const char *s, size_t len);

/* Walks over the elements of a valid JSON array: *at, its text to begin with, moves on to behind
 * the element that is returned. 1 for an element, 0 at the end or where there is no array. */
int fmt_json_element(const char **at, const char *end, const char **element, size_t *len);

/* The value of the member `key`, which needs no escaping, of an object: 1, or 0 where there is
 * none.
 */
int fmt_json_member(const char *object, size_t len, const char *key, const char **value,
		    size_t *value_len);

/* The same of a member that is a string, as it stands between the quotes: its length, 0 where there
 * is none. And of one that is an integer, which wraps at 64 bits. */
size_t fmt_json_member_text(const char *object, size_t len, const char *key, const char **ret);
int64_t fmt_json_member_i64(const char *object, size_t len, const char *key, int64_t otherwise);

/* Walks over the members of a valid JSON object as fmt_json_element() does over elements. The key
 * is as it stands between the quotes. */
int fmt_json_next_member(const char **at, const char *end, const char **key, size_t *key_len,
			 const char **value, size_t *len);

/* 1 and *ret when the value is an integer of 64 bits without leading zeros, else 0. */
int fmt_json_integer(const char *value, size_t len, int64_t *ret);

/* Appends what stands between the quotes of a string, with escape sequences resolved; half of a
 * surrogate pair becomes U+FFFD. Returns how many bytes were valid: fewer than `len` where an
 * escape sequence is not one of JSON. */
size_t fmt_json_unescape(struct text *t, const char *s, size_t len);

/* The length of the UTF-8 character at `s`, or 0 where none starts; left > 0. */
size_t fmt_utf8_length(const char *s, size_t left);

/* A document, its commas and line breaks. Containers that are fewer than `broken` deep have a line
 * for each member; deeper ones stand on one line.
 *
 *     struct fmt_json j = {.text = t, .broken = 2};
 *     fmt_json_open(&j, NULL, '{');
 *     fmt_json_i64(&j, "gpus", 4);
 *     fmt_json_close(&j, '}');
 *
 * `key` is NULL within arrays and at the top.
 */
struct fmt_json {
	struct text *text;
	unsigned broken;
	unsigned depth;
	bool more; /* the container has a member already */
};

void fmt_json_open(struct fmt_json *j, const char *key, char bracket);
void fmt_json_close(struct fmt_json *j, char bracket);
void fmt_json_i64(struct fmt_json *j, const char *key, int64_t v);
void fmt_json_u64(struct fmt_json *j, const char *key, uint64_t v);
/* With `decimals` digits behind the point; null when `v` is not finite. */
void fmt_json_double(struct fmt_json *j, const char *key, double v, int decimals);
void fmt_json_bool(struct fmt_json *j, const char *key, bool v);
void fmt_json_str(struct fmt_json *j, const char *key, const char *s);
void fmt_json_bytes(struct fmt_json *j, const char *key, const char *s, size_t len);
/* fmt_json_value() as a member. */
void fmt_json_verbatim(struct fmt_json *j, const char *key, const char *s, size_t len);
