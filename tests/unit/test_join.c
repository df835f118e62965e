/* SPDX-License-Identifier: Apache-2.0 */

/* Four ranks on two hosts, recorded once together and once in parts: joining the parts gives the
 * same run. */
#include "base/array.h"
#include "formats/run/join/join.h"
#include "formats/run/peers.h"
#include "formats/trace/origin.h"
#include "formats/trace/store/writer.h"
#include "tests/unit/rings.h"
#include "tests/unit/test.h"

#include <stdio.h>

#define RANKS 4
#define MS INT64_C(1000000)
#define NO_COMMUNICATOR (-1) /* number of rounds of a rank without communicator */

static void exchange(struct made_ring *m, uint64_t to, uint64_t from, int64_t start_ns,
		     int64_t end_ns)
{
	ring_call_at(m, "ncclGroupStart", 0, 0, NULL, 0);
	exchange_calls(m, to, "ncclSend");
	exchange_calls(m, from, "ncclRecv");
	end_group(m, start_ns, end_ns);
}

/* The peers of each rank: one exchange across hosts, and one within a host. */
static const struct {
	uint64_t to, from;
} across[RANKS] = {{1 << 2, 0}, {1 << 3, 0}, {0, 1 << 0}, {0, 1 << 1}},
  within[RANKS] = {{1 << 1, 0}, {0, 1 << 0}, {1 << 3, 0}, {0, 1 << 2}};

/* Ranks 2 and 3 are on a host whose clock is ahead. */
static void run_rank(struct made_ring *m, uint32_t rank, int64_t ahead_ns, int rounds)
{
	m->now_ns = 10 * MS + (rank < 2 ? 0 : ahead_ns);
	ring_begin(m, 0, CONTEXT, STREAM, KERNEL);
	if (rounds == NO_COMMUNICATOR)
		return;
	join_comm(m, RANKS, rank);
	for (int i = 0; i < rounds; i++) {
		int64_t at = m->now_ns = (11 + i) * MS + (rank < 2 ? 0 : ahead_ns);

		reduce(m, at + 20000 + rank * 100, at + 90000);
		exchange(m, across[rank].to, across[rank].from, at + 100000, at + 130000);
		if (rank < 2 || i % 2)
			exchange(m, within[rank].to, within[rank].from, at + 140000, at + 150000);
		reduce(m, at + 160000, at + 200000 + rank * 10);
	}
}

struct made {
	struct fmt_names *names;
	struct rec_process *p[RANKS];
	struct made_ring m[RANKS];
	struct written w;
	uint32_t n;
};

static void made_done(struct made *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		ring_close(&m->m[i]);
		rec_process_free(m->p[i]);
	}
	written_done(&m->w);
	fmt_names_free(m->names);
}

/* Records ranks `first` to `last` as one recorder does, from iteration `from` on. */
static void make_part(struct made *made, uint32_t first, uint32_t last, int64_t ahead_ns,
		      int rounds, const struct fmt_origin *o, int64_t from)
{
	const struct rec_window window = {.first = from, .last = from < 0 ? -1 : rounds};

	memset(made, 0, sizeof(*made));
	ck_assert_int_eq(fmt_names_new(&made->names), 0);
	for (uint32_t rank = first; rank <= last; rank++) {
		uint32_t i = made->n++;

		made->p[i] = process(made->names, 100 + (int)i, i);
		ring_open(&made->m[i], made->p[i], i);
		run_rank(&made->m[i], rank, ahead_ns, rounds);
		ring_look(&made->m[i]);
	}
	ck_assert_int_eq(fmt_origin_put(made->names, o), 0);
	write_window(made->p, made->n, made->names, &window, &made->w);
}

static void record_from(struct made *made, uint32_t first, uint32_t last, int64_t ahead_ns,
			int rounds, const char *clock, int64_t from)
{
	struct fmt_origin o = {0};

	snprintf(o.clock, sizeof(o.clock), "%s", clock);
	make_part(made, first, last, ahead_ns, rounds, &o, from);
}

static void record(struct made *made, uint32_t first, uint32_t last, int64_t ahead_ns, int rounds,
		   const char *clock)
{
	record_from(made, first, last, ahead_ns, rounds, clock, -1);
}

struct joined {
	char path[64];
	struct fmt_trace *trace;
	struct fmt_join_result result;
};

static void joined_done(struct joined *j)
{
	fmt_trace_close(j->trace);
}

/* Joins the parts in the given order, beside the trace of the first part. */
static int join(struct made *const *parts, size_t n, struct joined *ret)
{
	static char paths[4][64];
	const char *list[4];
	struct fmt_error err = {0};
	struct fmt_join o = {.paths = list, .n_paths = n, .output = ret->path};
	int r;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < n; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/trace", parts[i]->w.folder);
		list[i] = paths[i];
	}
	snprintf(ret->path, sizeof(ret->path), "%s/joined", parts[0]->w.folder);
	r = fmt_join(&o, &ret->result, &err);
	if (r < 0)
		return r;
	ck_assert_msg(fmt_trace_open(ret->path, &ret->trace, &err) == 0, "%s", err.what);
	return 0;
}

/* The compared properties of a collective. */
struct meeting {
	int64_t comm, seq, start_ns;
	char peers[64];
	bool of_all; /* all ranks participate */
};

static size_t list_collectives(struct fmt_trace *t, uint32_t rank, struct meeting *ret)
{
	const struct fmt_names *n = fmt_trace_names(t);
	size_t seen = 0;

	for (uint32_t k = 0; k < fmt_trace_rank(t, rank)->n_slices; k++) {
		scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

		ck_assert_int_eq(fmt_slice_load(t, rank, k, FMT_WANT_ALL, &s, NULL), 0);
		for (size_t i = 0; i < s->n_events; i++) {
			const struct fmt_event *e = &s->events[i];
			const struct fmt_template *template = fmt_template(n, e->template);
			const int64_t *values = s->values + e->first_value;
			const char *peers = fmt_template_peers(n, template);

			if (template->kind != FMT_COLLECTIVE)
				continue;
			ret[seen] = (struct meeting){values[FMT_COLLECTIVE_COMM],
						     values[FMT_COLLECTIVE_SEQ], e->start_ns, "",
						     false};
			ret[seen].of_all =
				strcmp(fmt_string(n, (fmt_str) template->args[2].value, NULL),
				       "all_reduce") == 0;
			snprintf(ret[seen].peers, sizeof(ret[seen].peers), "%s",
				 peers ? peers : "");
			seen++;
		}
	}
	return seen;
}

START_TEST(parts_make_the_whole)
{
	const int rounds = 12;
	scoped(made_done) struct made whole, a, b;
	scoped(joined_done) struct joined j;
	struct made *parts[] = {&b, &a};

	record(&whole, 0, 3, 0, rounds, "one");
	record(&a, 0, 1, 0, rounds, "alpha");
	record(&b, 2, 3, 7700 * MS, rounds, "beta");
	ck_assert_str_eq(
		fmt_fact_value(fmt_trace_names(a.w.trace), FMT_WHOLE_TRACE, "missing_ranks"),
		"[2, 3]");
	ck_assert_int_eq(join(parts, 2, &j), 0);
	ck_assert_uint_eq(j.result.n_ranks, RANKS);
	ck_assert_uint_eq(j.result.n_clocks, 2);
	ck_assert_uint_eq(j.result.n_aligned, 1);
	ck_assert_uint_eq(j.result.error.moments, 2 * rounds);
	ck_assert_int_le(j.result.error.max_ns, 40);
	ck_assert_uint_eq(j.result.out_of_order, 0);
	ck_assert_ptr_null(
		fmt_fact_value(fmt_trace_names(j.trace), FMT_WHOLE_TRACE, "missing_ranks"));
	ck_assert_uint_eq(fmt_comm(fmt_trace_names(j.trace), 0)->n_ranks, RANKS);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		struct meeting want[4 * 12], got[4 * 12];
		size_t n = list_collectives(whole.w.trace, rank, want);

		ck_assert_uint_eq(fmt_trace_rank(j.trace, rank)->number, rank);
		ck_assert_uint_eq(list_collectives(j.trace, rank, got), n);
		ck_assert_uint_ge(n, 3 * rounds);
		for (size_t i = 0; i < n; i++) {
			ck_assert_int_eq(got[i].comm, want[i].comm);
			ck_assert_int_eq(got[i].seq, want[i].seq);
			ck_assert_str_eq(got[i].peers, want[i].peers);
			ck_assert_int_le(llabs(got[i].start_ns - want[i].start_ns), 40);
		}
		for (int k = 0; k < FMT_KINDS; k++)
			ck_assert_uint_eq(fmt_trace_rank(j.trace, rank)->n_records[k],
					  fmt_trace_rank(whole.w.trace, rank)->n_records[k]);
	}
}
END_TEST

/* One host's window begins later: collectives in both windows are still matched. */
START_TEST(windows_that_differ)
{
	scoped(made_done) struct made a, b;
	scoped(joined_done) struct joined j;
	struct made *parts[] = {&a, &b};
	struct meeting of_a[64], of_b[64];
	size_t n_a, n_b, met = 0;

	record_from(&a, 0, 1, 0, 12, "alpha", 4);
	record_from(&b, 2, 3, 90 * MS, 12, "beta", 6);
	ck_assert_int_eq(join(parts, 2, &j), 0);
	ck_assert_uint_eq(j.result.n_aligned, 1);
	ck_assert_int_le(j.result.error.max_ns, 40);
	n_a = list_collectives(j.trace, 0, of_a);
	n_b = list_collectives(j.trace, 2, of_b);
	ck_assert_uint_gt(n_a, n_b);
	for (size_t i = 0; i < n_a; i++)
		for (size_t k = 0; k < n_b; k++)
			if (of_a[i].seq == of_b[k].seq && of_a[i].of_all) {
				ck_assert(of_b[k].of_all);
				ck_assert_int_le(llabs(of_a[i].start_ns - of_b[k].start_ns), 20000);
				met++;
			}
	ck_assert_uint_ge(met, 8);
}
END_TEST

/* Two parts of one run, each with one rank 0 and no communicator: no collective shows the clock
 * offset. */
START_TEST(parts_without_communicators)
{
	const struct fmt_origin one = {.clock = "alpha", .n_parts = 2, .run = "job 7"};
	const struct fmt_origin two = {.part = 1, .n_parts = 2, .run = "job 7"};
	scoped(made_done) struct made a, b;
	scoped(joined_done) struct joined j;
	struct made *parts[] = {&a, &b};

	make_part(&a, 0, 0, 0, NO_COMMUNICATOR, &one, -1);
	make_part(&b, 0, 0, 0, NO_COMMUNICATOR, &two, -1);
	ck_assert_int_eq(join(parts, 2, &j), 0);
	ck_assert_uint_eq(j.result.n_ranks, 2);
	ck_assert_uint_eq(fmt_trace_rank(j.trace, 0)->number, 0);
	ck_assert_uint_eq(fmt_trace_rank(j.trace, 1)->number, 1);
	ck_assert_uint_eq(j.result.n_aligned, 0);
	ck_assert_uint_eq(j.result.error.moments, 0);
}
END_TEST

/* Facts of two traces, and whether these are parts of one run. */
static const struct {
	const char *what;
	struct fmt_origin of[2];
	uint32_t rank[2]; /* of the rank of each */
	int rounds;	  /* of both */
	int want;
} pairs[] = {
	{"nothing", {{.clock = "a"}, {.clock = "b"}}, {0, 1}, NO_COMMUNICATOR, -EBADMSG},
	{"a clock", {{.clock = "a"}, {.clock = "a"}}, {0, 1}, NO_COMMUNICATOR, -EBADMSG},
	{"a communicator", {{.clock = "a"}, {.clock = "b"}}, {0, 1}, 1, 0},
	{"the same rank", {{.clock = "a"}, {.clock = "b"}}, {1, 1}, 1, -EBADMSG},
	{"one job",
	 {{.n_parts = 2, .run = "1"}, {.n_parts = 2, .part = 1, .run = "1"}},
	 {0, 1},
	 NO_COMMUNICATOR,
	 0},
	{"two jobs",
	 {{.n_parts = 2, .run = "1"}, {.n_parts = 2, .part = 1, .run = "2"}},
	 {0, 1},
	 1,
	 -EBADMSG},
	{"parts", {{.n_parts = 2}, {.n_parts = 2, .part = 1}}, {0, 1}, NO_COMMUNICATOR, 0},
	{"the same part twice",
	 {{.clock = "a", .n_parts = 2, .part = 1}, {.clock = "b", .n_parts = 2, .part = 1}},
	 {0, 1},
	 1,
	 -EBADMSG},
	{"parts of two and of three",
	 {{.n_parts = 2}, {.n_parts = 3, .part = 1}},
	 {0, 1},
	 NO_COMMUNICATOR,
	 -EBADMSG},
	{"the same trace", {{.clock = "a"}, {.clock = "a"}}, {0, 0}, 1, -EBADMSG},
};

START_TEST(parts_of_one_run)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		scoped(made_done) struct made a, b;
		scoped(joined_done) struct joined j = {0};
		struct made *parts[] = {&a, &b};
		int r;

		make_part(&a, pairs[i].rank[0], pairs[i].rank[0], 0, pairs[i].rounds,
			  &pairs[i].of[0], -1);
		make_part(&b, pairs[i].rank[1], pairs[i].rank[1], 0, pairs[i].rounds,
			  &pairs[i].of[1], -1);
		r = join(parts, 2, &j);
		ck_assert_msg(r == pairs[i].want, "%s: %d", pairs[i].what, r);
	}
}
END_TEST

/* Hosts that share a clock are not shifted, whatever the collectives suggest. */
START_TEST(shared_clocks_are_not_shifted)
{
	scoped(made_done) struct made a, b;
	scoped(joined_done) struct joined j;
	struct made *parts[] = {&a, &b};
	struct meeting want[16], got[16];

	record(&a, 0, 1, 0, 2, "same");
	record(&b, 2, 3, 5000, 2, "same");
	ck_assert_int_eq(join(parts, 2, &j), 0);
	ck_assert_uint_eq(j.result.n_clocks, 1);
	ck_assert_uint_eq(list_collectives(b.w.trace, 0, want), list_collectives(j.trace, 2, got));
	ck_assert_int_eq(got[0].start_ns, want[0].start_ns);
}
END_TEST

/* Any origin survives being written as a fact and read back. */
START_TEST(origins)
{
	static const struct fmt_origin put = {.clock = "a \"b\" \\ \t\xc3\xa9",
					      .realtime_ns = -5,
					      .part = 1,
					      .n_parts = 3,
					      .run = "{run}\n"};
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	struct fmt_origin got;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	fmt_origin_get(names, &got);
	ck_assert(got.clock[0] == '\0' && got.n_parts == 0);
	ck_assert_int_eq(fmt_origin_put(names, &put), 0);
	fmt_origin_get(names, &got);
	ck_assert_str_eq(got.clock, put.clock);
	ck_assert_str_eq(got.run, put.run);
	ck_assert(got.realtime_ns == -5 && got.part == 1 && got.n_parts == 3);
}
END_TEST

/* Joins a trace of one event with another part. Returns 0 or an error. */
static int join_event(const struct fmt_template *template, int64_t start_ns, int64_t duration_ns,
		      struct fmt_error *err)
{
	const struct fmt_writer_options options = {.names_mode = FMT_NAMES_SHARED};
	scoped(written_done) struct written written = {.folder = "/tmp/test-join-XXXXXX"};
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	struct fmt_event e = {.start_ns = start_ns, .duration_ns = duration_ns};
	int64_t values[2] = {0};
	const struct fmt_slice s = {
		.events = &e, .n_events = 1, .values = values, .n_values = ARRAY_SIZE(values)};
	char part[96], out[96];
	const char *paths[] = {part};
	const struct fmt_join o = {.paths = paths, .n_paths = 1, .output = out};
	struct fmt_join_result result;
	struct fmt_rank_writer *rank;
	struct fmt_writer *w;
	uint32_t unused;

	ck_assert_ptr_nonnull(mkdtemp(written.folder));
	snprintf(part, sizeof(part), "%s/part", written.folder);
	snprintf(out, sizeof(out), "%s/out", written.folder);
	ck_assert_int_eq(fmt_names_new(&names), 0);
	ck_assert_int_eq(fmt_names_template(names, template, &e.template), 0);
	ck_assert_int_eq(fmt_names_track(names, 0, &(struct fmt_track){0}, &unused), 0);
	ck_assert_int_eq(fmt_writer_open(part, names, &options, &w, NULL), 0);
	ck_assert_int_eq(fmt_writer_rank(w, 0, 0, &rank, NULL), 0);
	ck_assert_int_eq(fmt_rank_writer_slice(rank, &s, NULL), 0);
	ck_assert_int_eq(fmt_writer_close(w, NULL), 0);
	return fmt_join(&o, &result, err);
}

/* Times from a damaged or hostile trace. */
START_TEST(impossible_times)
{
	static const struct {
		int64_t start_ns, duration_ns;
		int want;
	} rows[] = {
		{INT64_MAX / 2 - 1, 1, 0},    {-INT64_MAX / 2, INT64_MAX / 2, 0},
		{INT64_MAX / 2, 1, -EBADMSG}, {INT64_MAX, INT64_MAX, -EBADMSG},
		{INT64_MIN, 0, -EBADMSG},     {5, -1, -EBADMSG},
	};
	static const struct fmt_template call = {.kind = FMT_CALL};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fmt_error err = {0};
		int r = join_event(&call, rows[i].start_ns, rows[i].duration_ns, &err);

		ck_assert_msg(r == rows[i].want, "row %zu: %s", i, err.what);
		ck_assert(!r == !strstr(err.what, "where no time is"));
	}
}
END_TEST

/* Collectives without the arguments that every collective has. */
START_TEST(incomplete_collectives)
{
	static const struct fmt_arg args[FMT_COLLECTIVE_ARGS] = {{.varies = 1}, {.varies = 1}};
	static const struct fmt_arg constant[FMT_COLLECTIVE_ARGS] = {{.varies = 1}};
	static const struct {
		const struct fmt_arg *args;
		uint32_t n_args;
		int want;
	} rows[] = {
		{args, FMT_COLLECTIVE_ARGS, 0},
		{args, FMT_COLLECTIVE_ARGS - 1, -EBADMSG},
		{args, 0, -EBADMSG},
		{constant, FMT_COLLECTIVE_ARGS, -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct fmt_template template = {
			.kind = FMT_COLLECTIVE, .args = rows[i].args, .n_args = rows[i].n_args};
		struct fmt_error err = {0};

		ck_assert_msg(join_event(&template, 1, 1, &err) == rows[i].want, "row %zu: %s", i,
			      err.what);
	}
}
END_TEST

START_TEST(inputs_that_are_not_parts_are_refused)
{
	struct fmt_join_result result;
	struct fmt_error err = {0};
	const char *none[] = {"/nonexistent"};
	const struct fmt_join o = {.paths = none, .n_paths = 1, .output = "/nonexistent/out"};

	ck_assert_int_lt(fmt_join(&o, &result, &err), 0);
}
END_TEST

TESTS("join", parts_make_the_whole, windows_that_differ, parts_without_communicators,
      parts_of_one_run, shared_clocks_are_not_shifted, origins, impossible_times,
      incomplete_collectives, inputs_that_are_not_parts_are_refused)
