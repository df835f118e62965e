/* SPDX-License-Identifier: Apache-2.0 */

/* The items of one rank of a trace, by track over the whole run: the operations of streams, with
 * their digests and waits, and the calls of threads. For cause.c. One thread. */
#pragma once

#include "base/text.h"
#include "formats/render/report/cause_memory.h"
#include "formats/render/report/cause_scope.h"
#include "formats/trace/store/trace.h"

#include <stdbool.h>

/* An operation, or a call. */
struct fmt_cause_item {
	const struct fmt_template *template;
	const struct fmt_event *event;
	const struct fmt_slice *slice;
	const struct fmt_cause_call *call; /* that launched it; NULL: none is recorded */
	int64_t launch_ns;
};

/* A call, by correlation. */
struct fmt_cause_call {
	const struct fmt_event *event;
	const struct fmt_slice *slice;
	bool is_nccl; /* or is within an NCCL call */
};

struct fmt_cause_track {
	int64_t match; /* matching track of the other side; -1: none */
	struct fmt_cause_item *items;
	size_t n, cap;
};

/* A wait of a stream for an event. */
struct fmt_cause_wait {
	uint64_t correlation; /* of the call */
	int64_t at_ns;
	int64_t recorded_ns;   /* the call that recorded the event; INT64_MIN: unknown */
	uint32_t track, other; /* the waiting stream, and the awaited one or UINT32_MAX */
};

struct fmt_cause_digest {
	const struct fmt_event *op;
	const struct fmt_digest *digest;
	const uint64_t *pages; /* of digest->first_page */
	size_t position;       /* in the trace */
};

struct fmt_cause_side {
	const struct fmt_names *names;
	uint32_t rank; /* index */
	struct fmt_cause_scope scope;
	struct fmt_slice **slices;
	size_t n_slices, slices_cap;
	struct fmt_cause_track *tracks; /* by track */
	uint32_t n_tracks;
	struct fmt_cause_call *calls; /* by correlation */
	size_t n_calls, calls_cap;
	struct fmt_cause_wait *waits; /* by track, then time */
	size_t n_waits, waits_cap;
	struct fmt_cause_digest *digests; /* by operation, reads before writes */
	size_t n_digests, digests_cap;
	struct fmt_cause_memory memory;
	int64_t *threads; /* by track: fmt_cause_memory_same(); set when the sides are matched */
	int64_t *host_graphs; /* the numbers of graphs with a function of the host; sorted */
	size_t n_host_graphs, host_graphs_cap;
	int64_t last_iteration;
};

/* Reads the part of a rank that is in the scope. Call fmt_cause_side_done() even after an error. */
int fmt_cause_side_read(struct fmt_trace *t, uint32_t rank, const struct fmt_cause_scope *scope,
			struct fmt_cause_side *ret, struct fmt_error *err);
void fmt_cause_side_done(struct fmt_cause_side *s);

/* Pairs the tracks of both sides that have the longest common prefix of operations; of several,
 * those with most equal digests, then those with the same number. Pairs threads that launch the
 * same operations. */
void fmt_cause_side_match(struct fmt_cause_side *a, struct fmt_cause_side *b);

/* Returns true if both are the same operation with the same sizes. */
bool fmt_cause_side_same(const struct fmt_cause_side *a, const struct fmt_cause_item *x,
			 const struct fmt_cause_side *b, const struct fmt_cause_item *y);

/* Return an integer argument; the size of an operation; -1: none. */
int64_t fmt_cause_side_value(const struct fmt_cause_side *s, const struct fmt_cause_item *x,
			     const char *key);
int64_t fmt_cause_side_bytes(const struct fmt_cause_side *s, const struct fmt_cause_item *x);

/* Returns true if the operation is the launch of a graph with a function of the host. */
bool fmt_cause_side_has_host_node(const struct fmt_cause_side *s, const struct fmt_cause_item *x);

/* Returns the digests of an operation. */
const struct fmt_cause_digest *fmt_cause_side_digests(const struct fmt_cause_side *s,
						      const struct fmt_cause_item *x, size_t *n);

/* Returns the number of operations of the track that were launched before at_ns. */
size_t fmt_cause_side_before(const struct fmt_cause_side *s, uint32_t track, int64_t at_ns);

/* Returns the number of an event, as in the tables. */
static inline fmt_number fmt_cause_number(const struct fmt_cause_item *x)
{
	return x->slice->first_number + (fmt_number)(x->event - x->slice->events);
}

/* Makes names such as "stream 7", "thread main". */
void fmt_cause_side_track(const struct fmt_cause_side *s, uint32_t track, char *ret, size_t cap);
