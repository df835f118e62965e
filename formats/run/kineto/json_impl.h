/* SPDX-License-Identifier: Apache-2.0 */

/* State of the JSON reader. json.c reads the document and its events, json_value.c single values.
 *
 * The document is read unit by unit: an event, a member of the top object, a bracket. A unit that
 * the window cuts off is read again from its start once more bytes are there, so functions below
 * need no state of their own. They return true and move `at` behind what they read; or false, with
 * `at` at the fault, when the text is not as expected (kineto_json_expected()), when the window
 * ends (*at is the NUL behind it), or when r->error is set. */
#pragma once

#include "formats/run/kineto/json.h"

#include "base/text.h"

#include <stdbool.h>

#define KINETO_SHAPES 32
#define KINETO_SHAPE_KEYS 40

/* Events of one "ph" and "cat" resemble one another: the key and the value at the same position of
 * the previous one are tried first. Only strings without escapes are remembered. */
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
	char *window; /* owned; control characters are spaces in it, and a NUL follows */
	size_t cap;
	const char *at, *end; /* in the window: what has not been read */
	uint64_t base;	      /* of window[0], in the document */
	bool ended;	      /* no more bytes follow the window */
	struct kineto_json_counts counts;
	const char *expected; /* what should have been at `at`; NULL: nothing else than read */
	const char *why;      /* why the document is not a trace */
	int error;	      /* of a callback, or -ENOMEM */
	struct text text;     /* a string without its escapes */
	struct text capture;  /* a value as JSON text */
	struct kineto_shape *shape; /* of the event, as far as it is known */
	size_t n_keys;		    /* of the event so far */
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

/* The next character that is not a space; NUL at the end of the window. */
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

/* Reads the separator behind an element: 1 when another element follows, 0 behind the closing
 * bracket, -1 as the functions that return false. */
int kineto_json_next(struct kineto_reader *r, char close);

/* A string, at its opening quote. *guess is the number of the string that it most likely is; *ret
 * becomes its number, and *guess too unless it has escapes. */
bool kineto_json_string(struct kineto_reader *r, uint32_t *guess, uint32_t *ret);

/* Moves behind a number, which begins at r->at. */
bool kineto_json_number(struct kineto_reader *r);

/* A value as an argument: ret->type and ret->value are set. */
bool kineto_json_argument(struct kineto_reader *r, struct kineto_guess *guess,
			  struct kineto_arg *ret);

/* A value as JSON text without white space: r->capture. */
bool kineto_json_capture(struct kineto_reader *r);
