/* SPDX-License-Identifier: Apache-2.0 */

/* The use of a trace's bytes, by chunk and column. */
#pragma once

#include "formats/trace/store/trace.h"

struct fmt_size_row {
	const char *chunk;  /* "slice", "names" ...; static */
	const char *column; /* "times" ...; static; "" if the chunk is not divided */
	uint64_t bytes;	    /* the sum over all rows is fmt_trace_bytes() */
	uint64_t items;	    /* number of records, chunks or files in them */
};

#define FMT_SIZE_ROWS 10

/* Reads the whole trace. Fills rows[] and returns their number, or -errno. Damaged chunks are not
 * divided. */
int fmt_sizes(struct fmt_trace *t, struct fmt_size_row rows[FMT_SIZE_ROWS], struct fmt_error *err);
