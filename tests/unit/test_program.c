/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/simulate.h"

#include "tests/unit/test.h"

#include "base/array.h"
#include "base/scope.h"

#include "formats/run/infer/constants.h"

/* One rank with two threads and two streams. */
enum { MAIN, OTHER, S7, S20, TRACKS };

/* The machine constants of the rank. */
#define ANCHOR 1000
#define LAUNCH 4
#define COPY 15
#define GAP 2
#define GAP_BEHIND_MEMSET 9

struct want {
	int64_t start, end;
};

/* Events {track, kind, start, duration, correlation} by track, edges {from, to, lag, kind} by `to`,
 * and the start and end that emulation must give each event. 7777 marks times that must not be
 * read. */
static const struct row {
	const char *what;
	struct {
		uint32_t track;
		enum fmt_kind kind;
		int64_t start, duration;
		uint64_t correlation;
	} events[8];
	struct fmt_edge edges[6];
	struct want want[8];
	uint64_t rootless;
} rows[] = {
	{"calls keep their durations and the gaps between them",
	 {{MAIN, FMT_CALL, 1000, 5}, {MAIN, FMT_CALL, 1010, 7}, {MAIN, FMT_CALL, 1017, 0}},
	 {{0}},
	 {{1000, 1005}, {1010, 1017}, {1017, 1017}}},
	{"each thread keeps its start time",
	 {{MAIN, FMT_CALL, 1000, 5}, {OTHER, FMT_CALL, 1500, 7}},
	 {{0}},
	 {{1000, 1005}, {1500, 1507}}},
	{"a launch and stream order",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1006, 5, 2},
	  {S7, FMT_KERNEL, 7777, 100, 1},
	  {S7, FMT_KERNEL, 7778, 10, 2}},
	 {{0}},
	 {{1000, 1005}, {1006, 1011}, {1009, 1109}, {1111, 1121}}},
	{"stream order after an operation with a longer gap",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1006, 5, 2},
	  {S7, FMT_MEMSET, 7777, 100, 1},
	  {S7, FMT_KERNEL, 7778, 10, 2}},
	 {{0}},
	 {{1000, 1005}, {1006, 1011}, {1009, 1109}, {1118, 1128}}},
	{"a stream waits for another",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1006, 5, 2},
	  {S7, FMT_KERNEL, 7777, 100, 1},
	  {S20, FMT_KERNEL, 7777, 10, 2}},
	 {{.from = 2, .to = 3, .lag_ns = 3, .kind = FMT_EDGE_START}},
	 {{1000, 1005}, {1006, 1011}, {1009, 1109}, {1112, 1122}}},
	{"capacity: not before another operation has started",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1006, 5, 2},
	  {S7, FMT_KERNEL, 7777, 100, 1},
	  {S20, FMT_KERNEL, 7777, 10, 2}},
	 {{.from = 2, .to = 3, .lag_ns = 50, .kind = FMT_EDGE_SPAWN}},
	 {{1000, 1005}, {1006, 1011}, {1009, 1109}, {1059, 1069}}},
	{"the host waits for the device and continues after it",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1006, 5000},
	  {MAIN, FMT_CALL, 6007, 2},
	  {S7, FMT_KERNEL, 7777, 100, 1}},
	 {{.from = 3, .to = 1, .lag_ns = 6, .kind = FMT_EDGE_RETURN}},
	 {{1000, 1005}, {1006, 1115}, {1116, 1118}, {1009, 1109}}},
	{"a wait that is already over: the call takes its own time",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1506, 5000},
	  {S7, FMT_KERNEL, 7777, 100, 1}},
	 {{.from = 2, .to = 1, .lag_ns = 6, .kind = FMT_EDGE_RETURN}},
	 {{1000, 1005}, {1506, 1512}, {1009, 1109}}},
	{"a copy that its own call waits for starts before the call ends",
	 {{MAIN, FMT_CALL, 1000, 5000, 1}, {S7, FMT_MEMCPY, 7777, 100, 1}},
	 {{.from = 1, .to = 0, .lag_ns = 30, .kind = FMT_EDGE_RETURN}},
	 {{1000, 1145}, {1015, 1115}}},
	{"the same for a call with little own time",
	 {{MAIN, FMT_CALL, 1000, 5000, 1}, {S7, FMT_MEMCPY, 7777, 100, 1}},
	 {{.from = 1, .to = 0, .lag_ns = 8, .kind = FMT_EDGE_RETURN}},
	 {{1000, 1123}, {1015, 1115}}},
	{"a launch that waits for an older operation",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1006, 5000, 2},
	  {S7, FMT_KERNEL, 7777, 100, 1},
	  {S7, FMT_KERNEL, 7778, 10, 2}},
	 {{.from = 2, .to = 1, .lag_ns = 6, .kind = FMT_EDGE_RETURN}},
	 {{1000, 1005}, {1006, 1115}, {1009, 1109}, {1119, 1129}}},
	{"one thread hands over to another",
	 {{MAIN, FMT_CALL, 1000, 5}, {OTHER, FMT_CALL, 1025, 7}, {OTHER, FMT_CALL, 1040, 1}},
	 {{.from = 0, .to = 1, .lag_ns = 20, .kind = FMT_EDGE_START}},
	 {{1000, 1005}, {1025, 1032}, {1040, 1041}}},
	{"the wait before a hand-over is not the thread's own time",
	 {{MAIN, FMT_CALL, 1000, 5}, {OTHER, FMT_CALL, 1000, 1}, {OTHER, FMT_CALL, 7777, 7}},
	 {{.from = 0, .to = 2, .lag_ns = 20, .kind = FMT_EDGE_START}},
	 {{1000, 1005}, {1000, 1001}, {1025, 1032}}},
	{"nested calls",
	 {{MAIN, FMT_CALL, 1000, 100},
	  {MAIN, FMT_CALL, 1010, 20},
	  {MAIN, FMT_CALL, 1050, 10, 3},
	  {MAIN, FMT_CALL, 1200, 10},
	  {S7, FMT_KERNEL, 7777, 50, 3}},
	 {{0}},
	 {{1000, 1100}, {1010, 1030}, {1050, 1060}, {1200, 1210}, {1064, 1114}}},
	{"a nested call waits, and both calls take longer",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1010, 100},
	  {MAIN, FMT_CALL, 1020, 70},
	  {MAIN, FMT_CALL, 1120, 10},
	  {S7, FMT_KERNEL, 7777, 500, 1}},
	 {{.from = 4, .to = 2, .lag_ns = 1, .kind = FMT_EDGE_RETURN}},
	 {{1000, 1005}, {1010, 1530}, {1020, 1510}, {1540, 1550}, {1009, 1509}}},
	{"a call that starts at the end of a wait comes after it",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1010, 100},
	  {MAIN, FMT_CALL, 1109, 1},
	  {S7, FMT_KERNEL, 7777, 500, 1}},
	 {{.from = 3, .to = 1, .lag_ns = 1, .kind = FMT_EDGE_RETURN}},
	 {{1000, 1005}, {1010, 1510}, {1509, 1510}, {1009, 1509}}},
	{"an operation launched before the recording",
	 {{MAIN, FMT_CALL, 1000, 5}, {S7, FMT_KERNEL, 7777, 100}, {S7, FMT_KERNEL, 7778, 10}},
	 {{.from = 1, .to = 1, .lag_ns = -300, .kind = FMT_EDGE_SPAWN}},
	 {{1000, 1005}, {700, 800}, {802, 812}}},
	{"an operation without dependencies",
	 {{MAIN, FMT_CALL, 1000, 5}, {S7, FMT_KERNEL, 7777, 100}},
	 {{0}},
	 {{1000, 1005}, {1000, 1100}},
	 1},
	{"recorded wait times are not used",
	 {{MAIN, FMT_CALL, 1000, 5, 1}, {S7, FMT_SYNC, 7777, 3, 1}, {S7, FMT_KERNEL, 7778, 10, 1}},
	 {{0}},
	 {{1000, 1005}, {SIM_NEVER, SIM_NEVER}, {1009, 1019}}},
	{"correlation ids far apart",
	 {{MAIN, FMT_CALL, 1000, 5, 1},
	  {MAIN, FMT_CALL, 1006, 5, UINT64_MAX},
	  {S7, FMT_KERNEL, 7777, 100, UINT64_MAX},
	  {S20, FMT_KERNEL, 7777, 10, 1}},
	 {{0}},
	 {{1000, 1005}, {1006, 1011}, {1015, 1115}, {1009, 1019}}},
	{"an edge from an unknown event, and one from the event itself",
	 {{MAIN, FMT_CALL, 1000, 5, 1}, {S7, FMT_KERNEL, 7777, 100, 1}},
	 {{.from = 99, .to = 1, .lag_ns = 3, .kind = FMT_EDGE_START},
	  {.from = 1, .to = 1, .lag_ns = 3, .kind = FMT_EDGE_START}},
	 {{1000, 1005}, {1009, 1109}}},
};

struct feeder {
	const struct row *row;
	struct fmt_slice slice;
	uint32_t templates[FMT_KINDS];
	int given, taken;
};

static int next(void *context, uint32_t rank, struct fmt_slice **ret, int *more,
		struct fmt_error *err)
{
	struct feeder *f = context;

	*more = 0;
	*ret = &f->slice;
	return !f->given++;
}

static int take_slice(void *context, uint32_t rank, struct fmt_slice *s, const int64_t *times,
		      const int64_t *variants, struct fmt_error *err)
{
	struct feeder *f = context;

	for (size_t i = 0; i < s->n_events; i++) {
		const struct want *want = &f->row->want[i];

		ck_assert_msg(times[2 * i] == want->start && times[2 * i + 1] == want->end,
			      "%s: event %zu is %ld to %ld instead of %ld to %ld", f->row->what, i,
			      (long)times[2 * i], (long)times[2 * i + 1], (long)want->start,
			      (long)want->end);
	}
	f->taken++;
	return 0;
}

static void make_names(struct fmt_names *n, uint32_t *templates)
{
	struct fmt_constants c = {
		.anchor_ns = ANCHOR, .launch_ns = LAUNCH, .copy_ns = COPY, .event_ns = 7777};
	struct fmt_template_gaps gaps;
	uint32_t unused;

	for (int i = 0; i < FMT_GAP_CLASSES * FMT_GAP_CLASSES; i++)
		c.gap_ns[i / FMT_GAP_CLASSES][i % FMT_GAP_CLASSES] = GAP;
	ck_assert_int_eq(fmt_constants_put(n, 0, &c), 0);
	for (uint8_t i = 0; i < FMT_KINDS; i++) {
		struct fmt_template template = {.kind = i};

		ck_assert_int_eq(fmt_names_template(n, &template, &templates[i]), 0);
	}
	ck_assert_int_eq(fmt_template_gaps_init(&gaps, fmt_n_templates(n)), 0);
	gaps.ns[templates[FMT_MEMSET]] = GAP_BEHIND_MEMSET - GAP;
	ck_assert_int_eq(fmt_template_gaps_put(n, &gaps), 0);
	fmt_template_gaps_done(&gaps);
	for (int i = 0; i < TRACKS; i++) {
		struct fmt_track track = {.kind = i < S7 ? FMT_THREAD : FMT_STREAM, .tid = i};

		ck_assert_int_eq(fmt_names_track(n, 0, &track, &unused), 0);
	}
}

static void make_slice(struct feeder *f, struct fmt_event *events)
{
	const struct row *row = f->row;

	f->slice.events = events;
	f->slice.edges = (struct fmt_edge *)row->edges;
	for (size_t i = 0; i < ARRAY_SIZE(row->events); i++) {
		if (i > 0 && row->events[i].start == 0)
			break;
		events[f->slice.n_events++] = (struct fmt_event){
			.start_ns = row->events[i].start,
			.duration_ns = row->events[i].duration,
			.correlation = row->events[i].correlation,
			.template = f->templates[row->events[i].kind],
			.track = row->events[i].track,
		};
	}
	while (f->slice.n_edges < ARRAY_SIZE(row->edges) && row->edges[f->slice.n_edges].lag_ns)
		f->slice.n_edges++;
}

TEST_ROWS(test_events_and_edges, rows)
{
	struct feeder f = {.row = row};
	struct fmt_event events[8];
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	uint32_t number = 0;
	struct replay_source source = {
		.n_ranks = 1, .numbers = &number, .context = &f, .next = next, .taken = take_slice};
	struct replay_counts counts;
	struct fmt_error err;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	make_names(names, f.templates);
	make_slice(&f, events);
	source.names = names;
	ck_assert_int_eq(replay_simulate(&source, &counts, &err), 0);
	ck_assert_int_eq(f.taken, 1);
	ck_assert_msg(counts.program.rootless == row->rootless, "%s", row->what);
	ck_assert_msg(counts.sim.broken == 0, "%s", row->what);
}

/* ---- a source in a thread of its own ---- */

enum { RANKS = 5, SLICES = 40 };

/* Slices with one call each on RANKS ranks, and the slices at which next() and taken() fail. */
struct run {
	struct fmt_event event;
	uint32_t template, next[RANKS], fail_next, fail_taken;
	int n_given, n_taken, n_dropped, in_order;
	_Atomic int inside, at_once; /* inside: functions of the source in progress; at_once:
					whether two ran at the same time */
};

static void enter(struct run *r)
{
	r->at_once |= r->inside++ > 0;
}

static int next_of_run(void *context, uint32_t rank, struct fmt_slice **ret, int *more,
		       struct fmt_error *err)
{
	struct run *r = context;
	uint32_t index = r->next[rank];
	int res = 0;

	enter(r);
	if (index == r->fail_next) {
		res = fmt_fail(err, -EIO, "", FMT_NO_OFFSET, "next");
	} else if (index < SLICES) {
		*ret = calloc(1, sizeof(**ret));
		(*ret)->index = r->next[rank]++;
		(*ret)->first_number = index;
		(*ret)->n_events = 1;
		(*ret)->events = &r->event;
		r->n_given++;
		res = 1;
	}
	r->inside--;
	return res;
}

static int taken_of_run(void *context, uint32_t rank, struct fmt_slice *slice, const int64_t *times,
			const int64_t *variants, struct fmt_error *err)
{
	struct run *r = context;
	int fails = slice->index == r->fail_taken;

	enter(r);
	/* All calls have the same recorded time, so each starts at the start of the preceding
	 * one. */
	r->in_order &= times[0] == ANCHOR;
	r->n_taken++;
	free(slice);
	r->inside--;
	return fails ? fmt_fail(err, -EIO, "", FMT_NO_OFFSET, "taken") : 0;
}

static void dropped_of_run(void *context, struct fmt_slice *slice)
{
	struct run *r = context;

	r->n_dropped++;
	free(slice);
}

static void feed_run(struct fmt_names *names, struct run *r, int wants_thread, const char *error)
{
	static const uint32_t numbers[RANKS] = {0, 1, 2, 3, 4};
	struct replay_source source = {.names = names,
				       .n_ranks = RANKS,
				       .numbers = numbers,
				       .wants_thread = wants_thread,
				       .context = r,
				       .next = next_of_run,
				       .dropped = dropped_of_run,
				       .taken = taken_of_run};
	struct replay_counts counts;
	struct fmt_error err = {0};

	r->event = (struct fmt_event){.start_ns = ANCHOR, .template = r->template};
	r->in_order = 1;
	ck_assert_int_eq(replay_simulate(&source, &counts, &err), error[0] ? -EIO : 0);
	ck_assert_str_eq(err.what, error);
	ck_assert_int_eq(r->n_given, r->n_taken + r->n_dropped);
	ck_assert_int_eq(r->n_given == RANKS * SLICES && r->n_dropped == 0, !error[0]);
	ck_assert(r->in_order && !r->at_once);
}

/* Every slice is taken once, or dropped after an error, whoever calls the source. */
TEST(test_source)
{
	struct fmt_track thread = {.kind = FMT_THREAD};
	struct fmt_template call = {.kind = FMT_CALL};
	struct fmt_names *names;
	uint32_t unused, template;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	ck_assert_int_eq(fmt_names_template(names, &call, &template), 0);
	for (uint32_t i = 0; i < RANKS; i++)
		ck_assert_int_eq(fmt_names_track(names, i, &thread, &unused), 0);
	for (int wants_thread = 0; wants_thread < 2; wants_thread++) {
		struct run all = {.template = template, .fail_next = SLICES, .fail_taken = SLICES};
		struct run unread, unwritten;

		all.fail_next++;
		unread = unwritten = all;
		unread.fail_next = unwritten.fail_taken = SLICES / 2;
		feed_run(names, &all, wants_thread, "");
		feed_run(names, &unread, wants_thread, "next");
		feed_run(names, &unwritten, wants_thread, "taken");
	}
	fmt_names_free(names);
}
