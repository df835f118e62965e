/* SPDX-License-Identifier: Apache-2.0 */

/* Reads every byte of a trace and checks it: headers and payloads against their checksums, the
 * index against the headers, the files against the manifest, the identity against the contents;
 * decodes all slices. */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/model.h"

struct fmt_problem {
	struct fmt_error error;
	int64_t chunk;	   /* number of the chunk in the file, from 0; -1: not in a chunk */
	const char *type;  /* "slice", "names" ...; NULL: not in a chunk */
	int64_t rank;	   /* number of the rank; -1: none */
	int64_t slice;	   /* -1: none */
	int64_t iteration; /* of the slice */
};

struct fmt_verified {
	uint64_t files, chunks, slices, bytes, problems;
	char id[65]; /* of the trace */
};

enum fmt_verify_depth {
	FMT_VERIFY_BYTES, /* checksums, indexes and roots: the bytes are unchanged */
	FMT_VERIFY_ALL,	  /* also decode slices and compare them with each other */
};

/* Calls `each` (may be NULL) for each problem, in the order of files and offsets. Returns 0 if the
 * trace could be read, even with problems (ret->problems counts them), or a negative errno: as
 * fmt_trace_open(), or the result of `each`. */
int fmt_verify_to(const char *path, enum fmt_verify_depth depth,
		  int (*each)(void *context, const struct fmt_problem *p), void *context,
		  struct fmt_verified *ret, struct fmt_error *err);
/* Calls fmt_verify_to() with FMT_VERIFY_ALL. */
int fmt_verify(const char *path, int (*each)(void *context, const struct fmt_problem *p),
	       void *context, struct fmt_verified *ret, struct fmt_error *err);
