/* SPDX-License-Identifier: Apache-2.0 */

/* Reads every byte of a trace and checks it: headers and payloads against their checksums, the
 * index against the headers, the identity against what is stored, slices by decoding them. */
#pragma once

#include "formats/error.h"
#include "formats/model.h"

struct fmt_problem {
	struct fmt_error error;
	int64_t chunk;	   /* its place in the file, from 0; -1 when it is no chunk */
	const char *type;  /* "slice", "names" ...; NULL when it is no chunk */
	int64_t rank;	   /* the recorder's; -1 when it belongs to none */
	int64_t slice;	   /* -1 when it belongs to none */
	int64_t iteration; /* of the slice */
	int repaired;	   /* 1: readers repair it; nothing is lost */
};

struct fmt_verified {
	uint64_t files, chunks, slices, bytes, problems;
	char id[65]; /* as computed */
};

/* Calls `each` for what is wrong, in the order of files and offsets; it may be NULL. Returns 0 if
 * the trace could be read, whatever was found (ret->problems counts it), or a negative errno: as
 * fmt_trace_open(), or what `each` returned. */
int fmt_verify(const char *path, int (*each)(void *context, const struct fmt_problem *p),
	       void *context, struct fmt_verified *ret, struct fmt_error *err);
