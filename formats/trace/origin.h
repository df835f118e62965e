/* SPDX-License-Identifier: Apache-2.0 */

/* On which clock a trace was recorded, and which part of a run it is: facts of the whole trace. */
#pragma once

#include "formats/trace/names.h"

#define FMT_ORIGIN_ID 128

struct fmt_origin {
	char clock[FMT_ORIGIN_ID]; /* the same text: the same clock; "": not known */
	int64_t realtime_ns;	   /* CLOCK_REALTIME minus that clock; 0: not known */
	uint32_t part, n_parts;	   /* n_parts 0: it is all of the run */
	char run[FMT_ORIGIN_ID];   /* what its launcher calls the run; "": not known */
};

/* Sets clock and realtime_ns: what this process's CLOCK_MONOTONIC is, by boot and time namespace.
 */
void fmt_origin_here(struct fmt_origin *ret);

/* 0 or a negative errno. */
int fmt_origin_put(struct fmt_names *names, const struct fmt_origin *o);

/* Number of ranks of the run, of which the trace may have some; 0: unknown. */
uint64_t fmt_origin_ranks(const struct fmt_names *names);
