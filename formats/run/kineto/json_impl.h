/* SPDX-License-Identifier: Apache-2.0 */

/* State of the JSON reader. json.c reads the document and its events, json_value.c single values.
 *
 * The document is read unit by unit: an event, a member of the top-level object, a bracket. A unit
 * that exceeds the window is read again from its start once more bytes are available, so functions
 * below need no state of their own. They return true and move `at` past the text that they read.
 * They return false, with `at` at the error, if the text is invalid (kineto_json_expected()), if
 * the window ends (*at is the terminating NUL), or if r->error is set. */
#pragma once

#include "formats/run/kineto/json.h"

#include "base/text.h"

#include <stdbool.h>

#define KINETO_SHAPES 32
#define KINETO_SHAPE_KEYS 40

/* Events of one "ph" and "cat" resemble each other: the reader first compares with the key and the
 * value at the same position of the previous event. Strings with escapes are not remembered. */
struct kineto_guess {
	uint32_t key, text, json;
};

struct kineto_shape {
	struct kineto_guess guesses[KINETO_SHAPE_KEYS];
};

struct kineto_reader {
	const struct kineto_json *j;
	struct kineto_event e;
	struct kineto_arg *args, *others; /* owned */
	size_t args_cap, others_cap;
	char *window; /* owned; control characters are replaced by spaces; NUL-terminated */
	size_t cap;
	const char *at, *end; /* unread bytes of the window */
	uint64_t base;	      /* offset of window[0] in the document */
	bool ended;	      /* the document ends with the window */
	struct kineto_json_counts counts;
	const char *expected;	    /* the text that was expected at `at`; NULL: none */
	const char *why;	    /* why the document is not a trace */
	int error;		    /* of a callback, or -ENOMEM */
	struct text text;	    /* a string after replacing escapes */
	struct text capture;	    /* a value as JSON text */
	struct kineto_shape *shape; /* of the current event, as far as known */
	size_t n_keys;		    /* of the current event so far */
	struct kineto_shape shapes[KINETO_SHAPES];
};

static inline bool kineto_json_expected(struct kineto_reader *r, const char *what)
{
	r->expected = what;
	return false;
}

static inline bool kineto_json_refuse(struct kineto_reader *r, const char *why)
{
	r->why = why;
	r->error = -EBADMSG;
	return false;
}

/* Skips spaces and returns the next character; NUL at the end of the window. */
static inline char kineto_json_peek(struct kineto_reader *r)
{
	while (*r->at == ' ')
		r->at++;
	return *r->at;
}

static inline bool kineto_json_accept(struct kineto_reader *r, char c)
{
	if (kineto_json_peek(r) != c)
		return false;
	r->at++;
	return true;
}

/* Reads the separator after an element. Returns 1 if another element follows, 0 after the closing
 * bracket, and -1 where other functions return false. */
int kineto_json_next(struct kineto_reader *r, char close);

/* Reads a string from its opening quote. *guess is the number of the most likely string. Sets *ret
 * to the string's number, and *guess too unless it has escapes. */
bool kineto_json_string(struct kineto_reader *r, uint32_t *guess, uint32_t *ret);

/* Skips a number, which starts at r->at. */
bool kineto_json_number(struct kineto_reader *r);

/* Reads a value as an argument: sets ret->type and ret->value. */
bool kineto_json_argument(struct kineto_reader *r, struct kineto_guess *guess,
			  struct kineto_arg *ret);

/* Copies a value to r->capture as JSON text without white space. */
bool kineto_json_capture(struct kineto_reader *r);
