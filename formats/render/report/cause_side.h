/* SPDX-License-Identifier: Apache-2.0 */

/* The operations of one rank of a trace, by stream over the whole run, with their digests. For
 * cause.c. One thread. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/trace.h"

#include <stdbool.h>

struct fmt_cause_digest {
	const struct fmt_digest *of;
	const uint64_t *pages; /* of of->first_page */
};

struct fmt_cause_op {
	const struct fmt_template *template;
	const struct fmt_event *event;
	const struct fmt_slice *slice;
	int64_t start_ns, iteration, comm,
		seq; /* comm is -1 if the operation is not a collective */
	uint64_t correlation;
	uint32_t track;
	struct fmt_cause_digest *digests;
	size_t n_digests, digests_cap;
};

struct fmt_cause_track {
	int64_t match; /* of the other side; -1 */
	struct fmt_cause_op *ops;
	size_t n, cap;
};

struct fmt_cause_side {
	const struct fmt_names *names;
	uint32_t rank;	/* index */
	int64_t number; /* of the rank */
	struct fmt_slice **slices;
	size_t n_slices, slices_cap;
	struct fmt_cause_track *tracks; /* by track; threads are empty */
	uint32_t n_tracks;
};

int fmt_cause_side_read(struct fmt_trace *t, uint32_t rank, struct fmt_cause_side *ret,
			struct fmt_error *err);
void fmt_cause_side_done(struct fmt_cause_side *s);

/* Finds the streams of both that are one: of the same number, else those left that did as much. */
void fmt_cause_side_match(struct fmt_cause_side *a, struct fmt_cause_side *b);

/* Whether both did the same, with the same sizes. */
bool fmt_cause_side_same(const struct fmt_cause_side *a, const struct fmt_cause_op *x,
			 const struct fmt_cause_side *b, const struct fmt_cause_op *y);

void fmt_cause_side_track(const struct fmt_cause_side *s, const struct fmt_cause_op *x, char *ret,
			  size_t cap);
/* "kernel scale", "memcpy of 4096 bytes"; NULL: "nothing". */
void fmt_cause_side_describe(const struct fmt_cause_side *s, const struct fmt_cause_op *x,
			     struct text *out);
