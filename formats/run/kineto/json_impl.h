/* SPDX-License-Identifier: Apache-2.0 */

/* The reader's state, for the files that make it up: json.c knows what tokens mean, json_read.c
 * feeds yajl, and plain.c needs none where a glance is enough. */
#pragma once

#include "formats/run/kineto/json.h"

#include "base/text.h"

#include <stdbool.h>
#include <yajl/yajl_parse.h>

#define SHAPES 32
#define PLACES 40

/* Events of one "ph" and "cat" resemble one another: the key and the text that stood at the same
 * place in the one before are tried first. The empty text where nothing is known. */
struct kineto_shape {
	uint32_t keys[PLACES], texts[PLACES];
};

/* Where in the document the next token stands. */
enum place {
	START,
	TOP,	 /* in the top object */
	MEMBER,	 /* at the value of one of its members */
	LIST,	 /* in traceEvents */
	EVENT,	 /* in an event */
	FIELD,	 /* at the value of one of its members */
	ARGS,	 /* in its "args" */
	ARG,	 /* at the value of one of them */
	CAPTURE, /* in a value that is kept as text */
	END,
};

struct reader {
	const struct kineto_json *j;
	struct kineto_event e;
	struct kineto_arg *args, *others;
	size_t args_cap, others_cap;
	enum place place, after; /* the place once the captured value has ended */
	bool bare;		 /* the document is an array */
	bool events;		 /* there was a list of events */
	uint32_t key;
	struct text capture;
	unsigned depth;
	bool more;		      /* the captured container has a member already */
	bool is_object[KINETO_DEPTH]; /* of those that are open in a captured value */
	uint64_t base;		      /* where in the document what yajl reads began */
	char *window;		      /* owned */
	size_t at, end;		      /* of what has not been parsed: window[at .. end) */
	bool ended;		      /* nothing comes behind it */
	char last;		      /* the last character, but spaces, before the window */
	enum { OUTSIDE, WITHIN, ESCAPED } in_text; /* where yajl stopped */
	uint64_t mended;			   /* behind the character that was mended last */
	uint64_t not_numbers, commas;		   /* as in struct kineto_json_counts */
	yajl_handle yajl;
	yajl_callbacks callbacks;   /* what it calls: kineto_json_callbacks, or none */
	int error;		    /* of a callback */
	const char *why;	    /* what the document is not */
	struct kineto_shape *shape; /* of the event, as far as it is known */
	struct kineto_shape shapes[SHAPES];
};

extern const yajl_callbacks kineto_json_callbacks;

/* A value that JSON has no word for, "NaN": kept as that text. As a callback: 1, or 0 to end. */
int kineto_json_not_a_number(struct reader *r, const char *name);

/* What follows is what becomes of tokens, for those who know what they are. As callbacks: 1, or 0
 * to end, r->error then being set. */

/* An event begins, and ends. */
void kineto_json_event(struct reader *r, uint64_t offset);
int kineto_json_event_end(struct reader *r);

/* A value, of the key in r->key. `v` is the number of a text unless `type` is FMT_INT. */
int kineto_json_value(struct reader *r, uint32_t type, int64_t v);
int kineto_json_number(struct reader *r, const char *s, size_t len);
int kineto_json_literal(struct reader *r, const char *s);

/* The number of a text. */
int kineto_json_text(struct reader *r, const char *s, size_t len, uint32_t *ret);
