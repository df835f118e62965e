/* SPDX-License-Identifier: Apache-2.0 */

/* Scans JSON text in memory from front to back. The text may be the beginning of a longer one.
 *
 * Functions return true and move `at` past what they scanned. They return false with `at` == `end`
 * if the text ends too early; else with `at` at the error and the text that was expected there in
 * `expected`. */
#pragma once

#include "base/text.h"

#include <stdbool.h>

#define FMT_JSON_DEPTH 64 /* maximum nesting of a value */

struct fmt_json_scan {
	const char *at, *end;
	const char *expected;
	/* Accepts what some programs write: trailing commas, numbers like NaN and -inf, which
	 * become the texts "NaN", "Infinity" and "-Infinity", and text that is not UTF-8. A number
	 * like NaN at the very end is taken as incomplete. */
	bool lenient;
	uint64_t commas, not_numbers; /* accepted so far because of `lenient` */
	struct text *copy; /* NULL, or receives scanned values, in UTF-8 and without white space */
};

/* Skips white space and returns the next character; NUL at the end. */
static inline char fmt_json_peek(struct fmt_json_scan *s)
{
	while (s->at < s->end &&
	       (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
	return s->at < s->end ? *s->at : '\0';
}

static inline bool fmt_json_accept(struct fmt_json_scan *s, char c)
{
	if (fmt_json_peek(s) != c)
		return false;
	s->at++;
	return true;
}

static inline bool fmt_json_expected(struct fmt_json_scan *s, const char *what)
{
	s->expected = what;
	return false;
}

/* Scans the separator after an element. Returns 1 if another element follows, 0 after the closing
 * bracket, and -1 where other functions return false. */
int fmt_json_scan_next(struct fmt_json_scan *s, char close);

/* Scans a string, which begins at `at`. *plain: all characters between the quotes are plain. */
bool fmt_json_scan_string(struct fmt_json_scan *s, bool *plain);

/* Returns true if `at` is at the beginning of a number, which fmt_json_scan_number() scans. */
bool fmt_json_at_number(const struct fmt_json_scan *s);
bool fmt_json_scan_number(struct fmt_json_scan *s);

/* Scans any value. */
bool fmt_json_scan_value(struct fmt_json_scan *s);
