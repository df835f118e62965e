/* SPDX-License-Identifier: Apache-2.0 */

/* The parts of a run while they are joined. Internal to formats/run/join. One thread; functions
 * return 0 or a negative errno. */
#pragma once

#include "base/text.h"
#include "formats/run/collectives/order.h"
#include "formats/run/join/join.h"
#include "formats/run/part.h"
#include "formats/trace/origin.h"
#include "formats/trace/store/trace.h"
#include "formats/trace/store/writer.h"

struct join_part {
	struct fmt_trace *trace; /* owned */
	struct fmt_origin origin;
	uint32_t clock;		       /* among the clocks */
	uint32_t *strings, *templates; /* owned: numbers in the joined names, plus 1; 0: not yet */
};

/* A rank of the joined trace, beside its part of the run. */
struct join_rank {
	uint32_t part, index; /* where it is from */
	uint32_t number;
	struct fmt_membership *members; /* owned; comm is the part's */
	size_t n_members;
	uint64_t *pages; /* owned: of its digests */
	size_t n_pages, pages_cap;
	size_t events_cap, values_cap;
};

struct join {
	const struct fmt_join *options;
	struct fmt_error *err;
	struct fmt_names *names; /* owned */
	struct fmt_run run;	 /* by number, as ranks, run_parts and readings are; owned */
	struct join_rank *ranks;
	struct fmt_run_part *run_parts;
	struct fmt_run_reading *readings;
	struct join_part *parts;	 /* owned; as given */
	struct fmt_participant *parties; /* owned; `from` is a position */
	size_t n_parties, parties_cap;
	struct fmt_clock *clocks; /* owned */
	uint32_t n_clocks;
	struct fmt_join_result *result;
};

/* same_run.c: 0, or -EBADMSG for parts of which nothing says that they are of one run, or that
 * cannot be. `ranks_differ`: no two ranks have the same number. */
int join_same_run(struct join *j, bool ranks_differ);

/* names.c: numbers of a part as numbers of the joined trace. */
int join_names_init(struct join_part *p);
int join_template(struct join *j, struct join_part *p, uint32_t template, uint32_t *ret);
/* The values of an event of that template, in place. */
int join_values(struct join *j, struct join_part *p, uint32_t template, int64_t *values);
/* Tracks, which keep their numbers, devices and facts. */
int join_rank_names(struct join *j, uint32_t rank);

/* load.c: events as they are, ranges, digests and contents of a rank; iterations. Its times are set
 * and all is put in order once the clocks are known. */
int join_load(struct join *j, uint32_t rank);
int join_settle(struct join *j, uint32_t rank);

/* meet.c: the collectives of all ranks, before any is moved. */
int join_meet(struct join *j);

/* hosts.c: which parts share a clock, and how the clocks differ. */
int join_clocks_list(struct join *j);
int join_clocks_align(struct join *j);
int join_clocks_put(struct join *j);

/* facts.c: of the whole trace. */
int join_facts(struct join *j);
/* Appends a fact of the whole trace. */
int join_fact(struct join *j, const char *key, const struct text *json);

/* keep.c: writes the contents of the parts. */
int join_keep(struct join *j, struct fmt_writer *w);
