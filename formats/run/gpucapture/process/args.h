/* SPDX-License-Identifier: Apache-2.0 */

/* The arguments of a call by meaning: numbers, names of enumerators, texts, the fields of structs,
 * kernel parameters by their layout; and beside a handle or an address the number of the object
 * that it stands for (doc/design/recording.md). */
#pragma once

#include "base/text.h"
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

/* ---- shared by args.c and args_struct.c */

#define REC_MOST_ELEMENTS 64 /* of an array */

void rec_put_text(struct rec_args *m, struct rec_key key, enum fmt_type type, const char *bytes,
		  size_t len);
void rec_put_made(struct rec_args *m, struct rec_key key, enum fmt_type type,
		  const struct text *text);
void rec_put_hex(struct rec_args *m, struct rec_key key, const uint8_t *bytes, size_t len);

/* A value that is extended to 64 bits, and the object that it stands for. */
void rec_put_value(struct rec_args *m, const struct rec_call *c, struct rec_key key,
		   const struct api_arg *a, uint64_t v);

/* Which allocation the address lies in, and where. */
void rec_put_memory(struct rec_args *m, const struct rec_call *c, struct rec_key key,
		    uint64_t address);

/* The numbers in `bytes`, each of `width`, as a list; and handles, with what they stand for. */
void rec_put_list(struct rec_args *m, struct rec_key key, const uint8_t *bytes, size_t n,
		  size_t width);
void rec_put_handles(struct rec_args *m, const struct rec_call *c, struct rec_key key,
		     enum api_meaning meaning, const uint8_t *bytes, size_t n);

/* One struct, or several, which have numbers. `arg` is the argument that leads to it, -1 for one
 * that something else leads to. */
void rec_put_structs(struct rec_args *m, const struct rec_call *c, struct rec_key key,
		     const struct api_view *all, int arg);

/* A CAP_BLOB_PARAMS of the argument: each parameter by its number; and the layout, from which the
 * packed bytes follow. */
void rec_put_params(struct rec_args *m, const struct rec_call *c, const struct api_arg *a,
		    const struct rec_blob *b);
