/* SPDX-License-Identifier: Apache-2.0 */

/* The differences between two recordings of one rank, from which cause.c chooses. One thread. */
#pragma once

#include "formats/render/report/cause.h"
#include "formats/render/report/cause_scope.h"
#include "formats/trace/store/trace.h"

/* A collective in which the input of some rank differs. Its outputs differ as a consequence, on
 * every rank. */
struct fmt_cause_tainted {
	int64_t comm, seq;
};

struct fmt_cause_candidate {
	int64_t comm, seq; /* of a collective; else -1 */
	uint32_t rank;	   /* index */
	uint32_t template; /* of the first trace */
	bool overwrites;   /* reads different bytes, and overwrites them with the same ones */
	bool from_host; /* a copy from the host, which may depend on data that the host read before
			 */
	struct fmt_cause about;
};

struct fmt_cause_candidates {
	struct fmt_cause *ret;
	struct fmt_cause_scope scope;
	struct fmt_cause_candidate *items; /* by rank and track */
	size_t n, cap;
	struct fmt_cause_tainted *tainted;
	size_t n_tainted, tainted_cap;
	int64_t unordered_ns; /* start of the first nondeterministic operation */
};

/* Compares a rank of `a` with one of `b`, by index, and adds to ret->ranks. Returns 0 or a negative
 * errno as fmt_slice_load(), with *err. */
int fmt_cause_candidates_add(struct fmt_cause_candidates *f, struct fmt_trace *a,
			     struct fmt_trace *b, uint32_t rank, uint32_t other,
			     struct fmt_error *err);
void fmt_cause_candidates_done(struct fmt_cause_candidates *f);
