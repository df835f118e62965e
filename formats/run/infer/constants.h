/* SPDX-License-Identifier: Apache-2.0 */

/* Latencies of one machine of a recorded run, which the emulator adds to the edges of the graph.
 * formats/run/infer measures them once and stores them in the trace as a fact of each rank. Times
 * are nanoseconds; any may be negative, since the clocks of device and host differ. */
#pragma once

#include "formats/trace/names.h"

/* Classes of operations: the gap between two operations of a stream depends on their classes.
 * Kernels are classified by duration: whole microseconds below 5, 5 to 10, longer. */
enum fmt_gap_class {
	FMT_GAP_SHORT,
	FMT_GAP_MEDIUM = 5,
	FMT_GAP_LONG,
	FMT_GAP_MEMCPY,
	FMT_GAP_MEMSET,
	FMT_GAP_COLLECTIVE, /* of any duration */
	FMT_GAP_CLASSES,
};

/* Keys of the facts. */
#define FMT_CONSTANTS_KEY "gputrace.emulation"
#define FMT_TEMPLATE_GAPS_KEY "gputrace.gaps" /* of the whole trace */

struct fmt_constants {
	int64_t anchor_ns;  /* recorded start of the rank's first call */
	int64_t clock_ns;   /* clock of the device, minus that of the reference rank's device */
	int64_t launch_ns;  /* from the end of a call to the start of its operation */
	int64_t from_start; /* 1: launch_ns counts from the start of the call */
	int64_t copy_ns;  /* from the start of a call that waits for its copy to the copy's start */
	int64_t event_ns; /* from the end of an operation to the start of a waiting one on another
			     stream */
	int64_t gap_ns[FMT_GAP_CLASSES][FMT_GAP_CLASSES]; /* [class before][class after] */
	int64_t unexplained; /* number of operations with an unexplained start */
};

/* The class of an operation. */
static inline enum fmt_gap_class fmt_gap_class(enum fmt_kind kind, int64_t duration_ns)
{
	switch (kind) {
	case FMT_MEMCPY:
		return FMT_GAP_MEMCPY;
	case FMT_MEMSET:
		return FMT_GAP_MEMSET;
	case FMT_KERNEL:
		if (duration_ns >= 10000)
			return FMT_GAP_LONG;
		return duration_ns >= 5000 ? FMT_GAP_MEDIUM
		       : duration_ns > 0   ? (enum fmt_gap_class)(duration_ns / 1000)
					   : FMT_GAP_SHORT;
	default:
		return FMT_GAP_COLLECTIVE;
	}
}

/* Returns 1 if the rank has constants, else 0; fills *ret in both cases. */
int fmt_constants_get(const struct fmt_names *n, uint32_t rank, struct fmt_constants *ret);

/* Returns 0 or a negative errno. */
int fmt_constants_put(struct fmt_names *n, uint32_t rank, const struct fmt_constants *c);

/* Difference between the gap after a kernel and that of its class, by template. */
struct fmt_template_gaps {
	int64_t *ns; /* or NULL */
	uint32_t n;
};

/* Sets the gaps of all templates to 0. Returns 0 or -ENOMEM; call fmt_template_gaps_done() in
 * either case. */
int fmt_template_gaps_init(struct fmt_template_gaps *g, uint32_t n_templates);
void fmt_template_gaps_done(struct fmt_template_gaps *g);

/* Reads the gaps that the trace contains. */
void fmt_template_gaps_get(const struct fmt_names *n, struct fmt_template_gaps *g);

/* Returns 0 or a negative errno. */
int fmt_template_gaps_put(struct fmt_names *n, const struct fmt_template_gaps *g);

static inline int64_t fmt_template_gap(const struct fmt_template_gaps *g, uint32_t template)
{
	return template <g->n ? g->ns[template] : 0;
}
