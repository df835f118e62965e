/* SPDX-License-Identifier: Apache-2.0 */

/* How the bytes of a trace are used, by chunk and column. */
#pragma once

#include "formats/trace/store/trace.h"

struct fmt_size_row {
	const char *chunk;  /* "slice", "names" ...; static */
	const char *column; /* "times" ...; static; "" when the chunk is not divided */
	uint64_t bytes;	    /* the sum over all rows is fmt_trace_bytes() */
	uint64_t items;	    /* records, chunks or files that the bytes hold */
};

#define FMT_SIZE_ROWS 10

/* Reads all of the trace. Fills rows[] and returns their number, or -errno. Damaged chunks count as
 * undivided. */
int fmt_sizes(struct fmt_trace *t, struct fmt_size_row rows[FMT_SIZE_ROWS], struct fmt_error *err);
