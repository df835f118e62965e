/* SPDX-License-Identifier: Apache-2.0 */

/* The clock of a recording, and its part of a run: facts of the whole trace. */
#pragma once

#include "formats/trace/names.h"

#define FMT_ORIGIN_ID 128

struct fmt_origin {
	char clock[FMT_ORIGIN_ID]; /* identifies the clock; "": unknown */
	int64_t realtime_ns;	   /* CLOCK_REALTIME minus that clock; 0: unknown */
	uint32_t part, n_parts;	   /* n_parts 0: the whole run */
	char run[FMT_ORIGIN_ID];   /* the launcher's name of the run; "": unknown */
};

/* Sets clock and realtime_ns for this process's CLOCK_MONOTONIC, by boot and time namespace. */
void fmt_origin_current(struct fmt_origin *ret);

/* Returns 0 or a negative errno. */
int fmt_origin_put(struct fmt_names *names, const struct fmt_origin *o);

/* Returns the number of ranks of the run, not only of the trace; 0: unknown. */
uint64_t fmt_origin_ranks(const struct fmt_names *names);
