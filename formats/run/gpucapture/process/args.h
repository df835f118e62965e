/* SPDX-License-Identifier: Apache-2.0 */

/* Decodes the arguments of a call: numbers, names of enumerators, texts, fields of structs, kernel
 * parameters by their layout. Handles and addresses also get the number of the object or allocation
 * (doc/design/recording.md). */
#pragma once

#include "base/text.h"
#include "formats/run/gpucapture/process/call.h"

#define REC_MOST_ARGS 512

/* The key of an argument, as a list of parts. Its text is made only for a new event template. */
struct rec_arg_key {
	const struct rec_arg_key *in; /* the preceding part; NULL: none */
	const char *name;	      /* static */
	uint32_t index;		      /* 1 + index in square brackets after the name; 0: none */
	uint64_t code;		      /* hash of all parts; equal hashes mean equal keys */
};

static inline struct rec_arg_key rec_arg_key_index(const struct rec_arg_key *in, const char *name,
						   uint32_t index)
{
	uint64_t code = (in ? in->code : 0) + (uintptr_t)name + (uint64_t)(index + 1) * 64;

	code *= 0xd6e8feb86659fd93u;
	return (struct rec_arg_key){in, name, index + 1, code ^ code >> 32};
}

static inline struct rec_arg_key rec_arg_key_name(const struct rec_arg_key *in, const char *name)
{
	return rec_arg_key_index(in, name, UINT32_MAX);
}

struct rec_args {
	struct fmt_names *names;
	struct fmt_arg args[REC_MOST_ARGS]; /* filled if n_like is 0; all of them vary */
	int64_t values[REC_MOST_ARGS];
	uint64_t codes[REC_MOST_ARGS];	  /* of keys and types; filled if n_like is 0 */
	uint32_t n, most, left_out;	  /* left_out: arguments that exceeded `most` */
	const struct rec_last_call *like; /* last call of the function; NULL */
	const struct fmt_arg *like_args;
	uint32_t n_like; /* number of the arguments of `like`; 0: those of the call differ */
	int error;
};

/* Begins an empty list; `a` need not be initialised. `like` is the last call of the same function,
 * because most calls repeat its keys and types; NULL: unknown. */
void rec_args_begin(struct rec_args *a, struct fmt_names *names, const struct rec_last_call *like);

/* Adds the arguments of the call, with the memory that they point to. */
void rec_args_add_call(struct rec_args *a, const struct rec_call *c);

/* Ends the list: adds the number of arguments that were left out, if any. */
void rec_args_end(struct rec_args *a);

/* Returns true if keys and types equal those of `like`. */
bool rec_args_match(const struct rec_args *a);

/* rec_args_put() for an argument whose key or type is not that of `like` at this place, or that
 * exceeds `most`. */
void rec_args_put_mismatch(struct rec_args *a, const struct rec_arg_key *key, enum fmt_type type,
			   int64_t value);

static inline void rec_args_put(struct rec_args *a, struct rec_arg_key key, enum fmt_type type,
				int64_t value)
{
	if (a->n < a->n_like && a->like->codes[a->n] == key.code + type)
		a->values[a->n++] = value;
	else
		rec_args_put_mismatch(a, &key, type, value);
}

/* ---- internal: shared by args.c and args_struct.c */

#define REC_MOST_ELEMENTS 64 /* of an array */

void rec_args_put_text(struct rec_args *m, struct rec_arg_key key, enum fmt_type type,
		       const char *bytes, size_t len);
void rec_args_put_hex(struct rec_args *m, struct rec_arg_key key, const uint8_t *bytes, size_t len);

/* A value that is extended to 64 bits, and the object that it stands for. */
void rec_args_put_value(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			const struct api_arg *a, uint64_t v);

/* Adds the number of the allocation that contains the address, and the offset in it. */
void rec_args_put_memory(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			 uint64_t address);

/* The numbers in `bytes`, each of `width`, as a list; and handles, with what they stand for. */
void rec_args_put_list(struct rec_args *m, struct rec_arg_key key, const uint8_t *bytes, size_t n,
		       size_t width);
void rec_args_put_handles(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			  enum api_meaning meaning, const uint8_t *bytes, size_t n);

/* Adds the fields of one struct, or of several with an index in their keys. `arg`: the argument
 * that points to the struct, -1 if a field does. */
void rec_args_put_structs(struct rec_args *m, const struct rec_call *c, struct rec_arg_key key,
			  const struct api_view *all, int arg);

/* A CAP_BLOB_PARAMS of the argument: each parameter by its number; and the layout, from which the
 * packed bytes follow. */
void rec_args_put_params(struct rec_args *m, const struct rec_call *c, const struct api_arg *a,
			 const struct rec_blob *b);
