/* SPDX-License-Identifier: Apache-2.0 */

/* The reader's state, for the files that make it up: json.c knows what tokens mean, json_read.c
 * feeds yajl. */
#pragma once

#include "formats/kineto/json.h"

#include "base/text.h"

#include <stdbool.h>
#include <yajl/yajl_parse.h>

#define SHAPES 32
#define PLACES 40

/* Events of one "ph" and "cat" resemble one another: the key and the string that stood at the same
 * place in the one before are tried first. The empty text where nothing is known. */
struct kineto_shape {
	uint32_t keys[PLACES], strings[PLACES];
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
	char last;		      /* the last character, but spaces, of what yajl has read */
	uint64_t mended;	      /* behind the character that was mended last */
	uint64_t not_numbers, commas; /* as in struct kineto_json_counts */
	yajl_handle yajl;
	yajl_callbacks callbacks;   /* what it calls: kineto_json_callbacks, or none */
	int error;		    /* of a callback */
	const char *why;	    /* what the document is not */
	struct kineto_shape *shape; /* of the event, as far as it is known */
	size_t n_keys;		    /* of the event so far */
	struct kineto_shape shapes[SHAPES];
};

extern const yajl_callbacks kineto_json_callbacks;

/* A value that JSON has no word for, "NaN": kept as that text. As a callback: 1, or 0 to end. */
int kineto_json_not_a_number(struct reader *r, const char *name);
