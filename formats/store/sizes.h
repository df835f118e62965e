/* SPDX-License-Identifier: Apache-2.0 */

/* What the bytes of a trace are spent on, by chunk and column, so that the next saving is visible.
 */
#pragma once

#include "formats/store/trace.h"

struct fmt_size_row {
	const char *chunk;  /* "slice", "names" ...; static */
	const char *column; /* "host times" ...; static; "" when the chunk is not divided */
	uint64_t bytes;	    /* the sum over all rows is fmt_trace_bytes() */
	uint64_t items;	    /* that they stand for: records, chunks, files */
};

#define FMT_SIZE_ROWS 17

/* Reads all of the trace. Fills rows[] and returns their number, or -errno. Damaged chunks count as
 * undivided. */
int fmt_sizes(struct fmt_trace *t, struct fmt_size_row rows[FMT_SIZE_ROWS], struct fmt_error *err);
