/* SPDX-License-Identifier: Apache-2.0 */

/* The arguments of a call by meaning: numbers, names of enumerators, texts, the fields of structs,
 * kernel parameters by their layout; and beside a handle or an address the number of the object
 * that it stands for (doc/design/recording.md). */
#pragma once

#include "formats/run/gpucapture/process/call.h"

#define REC_MOST_ARGS 512

/* The key of an argument: the parts of its text, which is only made for a new event template. */
struct rec_key {
	const struct rec_key *in; /* the part before; NULL */
	const char *name;	  /* static */
	uint32_t index;		  /* plus 1, behind the name; 0: none */
	uint64_t code;		  /* of all parts: keys with the same code are the same */
};

static inline struct rec_key rec_key_index(const struct rec_key *in, const char *name,
					   uint32_t index)
{
	uint64_t code = (in ? in->code : 0) + (uintptr_t)name + (uint64_t)(index + 1) * 64;

	code *= 0xd6e8feb86659fd93u;
	return (struct rec_key){in, name, index + 1, code ^ code >> 32};
}

static inline struct rec_key rec_key_of(const struct rec_key *in, const char *name)
{
	return rec_key_index(in, name, UINT32_MAX);
}

/* The arguments of the last call of a function. */
struct rec_last_call {
	uint32_t template; /* plus 1; 0: there was none */
	uint32_t n;
	uint64_t *codes; /* owned: of keys and types */
};

struct rec_args {
	struct fmt_names *names;
	struct fmt_arg args[REC_MOST_ARGS]; /* once it is `unlike`; all of them vary */
	int64_t values[REC_MOST_ARGS];
	uint64_t codes[REC_MOST_ARGS];	  /* once it is `unlike` */
	uint32_t n, most, left_out;	  /* those that found no place */
	const struct rec_last_call *like; /* of the function; NULL */
	const struct fmt_arg *like_args;
	bool unlike; /* other arguments than those */
	int error;
};

/* Begins with none; what is in there need not be zero. Nearly always a call has the arguments of
 * the function's last one, `like`; NULL: not known. */
void rec_args_begin(struct rec_args *a, struct fmt_names *names, const struct rec_last_call *like);

/* Adds those of the call, with what they point to. */
void rec_args_of(struct rec_args *a, const struct rec_call *c);

/* Ends them: adds how many were left out, if any were. */
void rec_args_end(struct rec_args *a);

/* Whether they are those of `like`. */
bool rec_args_are_like(const struct rec_args *a);

/* rec_args_put() of an argument that `like` does not have at this place. */
void rec_args_put_unlike(struct rec_args *a, const struct rec_key *key, enum fmt_type type,
			 int64_t value);

static inline void rec_args_put(struct rec_args *a, struct rec_key key, enum fmt_type type,
				int64_t value)
{
	if (a->n >= a->most)
		a->left_out++;
	else if (!a->unlike && a->n < a->like->n && a->like->codes[a->n] == key.code + type)
		a->values[a->n++] = value;
	else
		rec_args_put_unlike(a, &key, type, value);
}
