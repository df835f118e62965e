/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by args.c and args_struct.c. */
#pragma once

#include "base/text.h"
#include "formats/api/fields.h"
#include "formats/run/gpucapture/process/args.h"

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
