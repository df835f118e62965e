/* SPDX-License-Identifier: Apache-2.0 */

/* The operations of one rank of a trace, by stream over the whole run, with their digests. For
 * cause.c. One thread. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/trace.h"

#include <stdbool.h>

struct cause_digest {
	const struct fmt_digest *of;
	const uint64_t *pages; /* of of->first_page */
};

struct cause_op {
	const struct fmt_template *template;
	const struct fmt_event *event;
	const struct fmt_slice *slice;
	int64_t start_ns, iteration, comm, seq; /* comm is -1 if it is no collective */
	uint64_t correlation;
	uint32_t track;
	struct cause_digest *digests;
	size_t n_digests, digests_cap;
};

struct cause_track {
	int64_t match; /* of the other side; -1 */
	struct cause_op *ops;
	size_t n, cap;
};

struct cause_side {
	const struct fmt_names *names;
	uint32_t rank;	/* index */
	int64_t number; /* of the rank */
	struct fmt_slice **slices;
	size_t n_slices, slices_cap;
	struct cause_track *tracks; /* by track; threads are empty */
	uint32_t n_tracks;
};

int cause_side_read(struct fmt_trace *t, uint32_t rank, struct cause_side *ret,
		    struct fmt_error *err);
void cause_side_done(struct cause_side *s);

/* Finds the streams of both that are one: of the same number, else those left that did as much. */
void cause_side_match(struct cause_side *a, struct cause_side *b);

/* Whether both did the same, with the same sizes. */
bool cause_side_same(const struct cause_side *a, const struct cause_op *x,
		     const struct cause_side *b, const struct cause_op *y);

void cause_side_track(const struct cause_side *s, const struct cause_op *x, char *ret, size_t cap);
/* "kernel scale", "memcpy of 4096 bytes"; NULL: "nothing". */
void cause_side_describe(const struct cause_side *s, const struct cause_op *x, struct text *out);
