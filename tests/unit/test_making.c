/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/making.h"

#include "base/array.h"
#include "tests/unit/rings.h"
#include "tests/unit/test.h"

#define ROUNDS 60
#define RANKS 2

enum way { REPEATED, MARKED, UNMARKED };

/* A run of some ranks, a process each. */
struct made_run {
	struct fmt_names *names;
	struct rec_process *p[RANKS + 2];
	struct made_ring rings[RANKS + 2];
	uint32_t n;    /* that have begun: the ranks, one that launches nothing, another rank */
	uint64_t late; /* an operation of the first rank whose times come a round later */
};

static void add_rank(struct made_run *m)
{
	uint32_t i = m->n++;

	m->p[i] = process(m->names, 100 + (int)i, i);
	ring_open(&m->rings[i], m->p[i], i);
	ring_begin(&m->rings[i], (int)i, CONTEXT, STREAM, KERNEL);
	join_comm(&m->rings[i], RANKS, i);
	ring_look(&m->rings[i]);
}

static void add_idle(struct made_run *m)
{
	uint32_t i = m->n++;

	m->p[i] = process(m->names, 100 + (int)i, i);
	ring_open(&m->rings[i], m->p[i], i);
	ring_call(&m->rings[i], "cuInit", 0);
	ring_look(&m->rings[i]);
}

static void run_begin(struct made_run *m)
{
	ck_assert_int_eq(fmt_names_new(&m->names), 0);
	m->late = m->n = 0;
	for (uint32_t i = 0; i < RANKS; i++)
		add_rank(m);
	add_idle(m);
}

static void run_end(struct made_run *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		ring_close(&m->rings[i]);
		rec_process_free(m->p[i]);
	}
	fmt_names_free(m->names);
}

static void operation(struct made_ring *m, uint64_t id)
{
	ring_times(m, id, m->now_ns, m->now_ns + 700);
}

static void mark(struct made_ring *m, uint64_t number)
{
	const struct cap_range_record r = {
		.head = {.bytes = sizeof(r), .kind = CAP_RANGE, .flags = CAP_RANGE_ITERATION},
		.at = (uint64_t)m->now_ns,
		.key = number};

	ring_put(m, &r);
}

/* An iteration of the rank; another number of launches in each, where nothing is to repeat. */
static void iterate(struct made_run *m, uint32_t rank, uint32_t round, enum way way)
{
	struct made_ring *r = &m->rings[rank];
	uint32_t n = way == UNMARKED ? 3 + round * round % 7 : 3;

	if (way == MARKED)
		mark(r, 10 + round);
	for (uint32_t i = 0; i < n; i++)
		operation(r, ring_launch(r, KERNEL, STREAM));
	operation(r, ring_call(r, "cuMemsetD8Async", 0x10000, 0, 64, STREAM));
	if (rank == 0 && m->late)
		operation(r, m->late);
	if (rank == 0)
		m->late = ring_call(r, "cuMemcpyDtoDAsync_v2", 0x10000, 0x20000, 64, STREAM);
	else
		operation(r, ring_call(r, "cuMemcpyDtoDAsync_v2", 0x10000, 0x20000, 64, STREAM));
	reduce(r, r->now_ns + 100, r->now_ns + 900);
	ring_look(r);
}

/* All of it, in rounds; `more` is called after each. */
static void iterate_all(struct made_run *m, enum way way, struct rec_making *making)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < RANKS; i++)
			iterate(m, i, round, way);
		if (making)
			ck_assert_int_ge(rec_making_more(making, m->p, m->n, NULL), 0);
	}
	operation(&m->rings[0], m->late);
	ring_look(&m->rings[0]);
}

/* An event of the trace, as whoever reads it sees it. */
struct seen {
	int64_t iteration, start_ns, duration_ns, seq;
	uint32_t rank;
	char name[40];
};

struct all_seen {
	struct seen *seen;
	size_t n, cap;
	uint64_t edges;
};

static void all_seen_done(struct all_seen *a)
{
	free(a->seen);
}

static int by_start(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return array_order(x->rank, y->rank) ?: array_order(x->start_ns, y->start_ns)
	       ?: strcmp(x->name, y->name);
}

static void see(struct fmt_trace *t, struct all_seen *ret)
{
	const struct fmt_names *n = fmt_trace_names(t);

	for (uint32_t rank = 0; rank < fmt_trace_n_ranks(t); rank++)
		for (uint32_t k = 0; k < fmt_trace_rank(t, rank)->n_slices; k++) {
			scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

			ck_assert_int_eq(fmt_slice_load(t, rank, k, FMT_WANT_ALL, &s, NULL), 0);
			ret->edges += s->n_edges;
			for (size_t i = 0; i < s->n_events; i++) {
				const struct fmt_event *e = &s->events[i];
				const struct fmt_site *site = fmt_site(n, e->site);
				struct seen made = {.iteration = s->iteration.number,
						    .start_ns = e->start_ns,
						    .duration_ns = e->duration_ns,
						    .rank = rank};

				if (site->kind == FMT_COLLECTIVE)
					made.seq = s->values[e->first_value + FMT_COLLECTIVE_SEQ];
				snprintf(made.name, sizeof(made.name), "%s",
					 fmt_string(n, site->name, NULL));
				ck_assert_int_eq(array_reserve(&ret->seen, ret->n + 1, &ret->cap),
						 0);
				ret->seen[ret->n++] = made;
			}
		}
	qsort(ret->seen, ret->n, sizeof(*ret->seen), by_start);
}

static void write_stretches(struct made_run *m, enum way way, size_t stretch, struct written *w)
{
	const struct rec_window window = {.first = -1, .last = -1, .stretch = stretch};
	scoped(rec_making_freep) struct rec_making *making = NULL;
	struct fmt_error err = {0};
	char path[64];

	strcpy(w->folder, "/tmp/test-recorder-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->folder));
	snprintf(path, sizeof(path), "%s/trace", w->folder);
	ck_assert_int_eq(rec_making_new(m->names, &window, path, &making), 0);
	iterate_all(m, way, making);
	ck_assert(rec_making_has_begun(making));
	for (uint32_t i = 0; i < RANKS; i++)
		ck_assert_uint_lt(m->p[i]->n_events, 4 * stretch);
	ck_assert_msg(rec_making_end(making, m->p, m->n, &w->result, &err) == 0, "%s", err.what);
	ck_assert_msg(fmt_trace_open(path, &w->trace, &err) == 0, "%s", err.what);
}

/* By way and length of a stretch; what nobody marks and does not repeat has iterations of its own.
 */
START_TEST(stretches_are_as_the_whole)
{
	static const size_t stretches[] = {100, 160, 500};
	enum way way = (enum way)(_i / (int)ARRAY_SIZE(stretches));
	size_t stretch = stretches[_i % (int)ARRAY_SIZE(stretches)];
	scoped(all_seen_done) struct all_seen one = {0}, all = {0};
	scoped(written_done) struct written whole = {0}, parts = {0};
	struct made_run a, b;

	run_begin(&a);
	iterate_all(&a, way, NULL);
	write_trace(a.p, a.n, a.names, &whole);
	run_begin(&b);
	write_stretches(&b, way, stretch, &parts);

	see(whole.trace, &one);
	see(parts.trace, &all);
	ck_assert_uint_eq(one.n, all.n);
	for (size_t i = 0; i < one.n; i++) {
		const struct seen *x = &one.seen[i], *y = &all.seen[i];

		ck_assert_str_eq(x->name, y->name);
		ck_assert_int_eq(x->start_ns, y->start_ns);
		ck_assert_int_eq(x->duration_ns, y->duration_ns);
		ck_assert_int_eq(x->seq, y->seq);
		ck_assert_msg(way == UNMARKED || x->iteration == y->iteration,
			      "%s at %lld: %lld and %lld", x->name, (long long)x->start_ns,
			      (long long)x->iteration, (long long)y->iteration);
	}
	ck_assert_uint_eq(whole.result.calls, parts.result.calls);
	ck_assert_uint_eq(whole.result.ops, parts.result.ops);
	ck_assert_uint_eq(whole.result.collectives, parts.result.collectives);
	ck_assert_uint_eq(parts.result.unmatched + parts.result.without_times, 0);
	if (way != UNMARKED)
		ck_assert_uint_eq(whole.result.n_iterations, parts.result.n_iterations);
	/* But for those between stretches, of which short ones have many. */
	ck_assert_uint_ge(all.edges, stretch < 500 ? one.edges / 3 : one.edges - one.edges / 5);
	ck_assert_uint_eq(fmt_n_comms(fmt_trace_names(whole.trace)),
			  fmt_n_comms(fmt_trace_names(parts.trace)));
	run_end(&a);
	run_end(&b);
}
END_TEST

/* What the first stretches were made by does not hold: another rank, another way of marking,
 * messages. */
START_TEST(what_does_not_hold_is_said)
{
	static const int says[] = {-EAGAIN, -EAGAIN, -ENOTSUP};
	const struct rec_window window = {.first = -1, .last = -1, .stretch = 40};
	scoped(rec_making_freep) struct rec_making *making = NULL;
	scoped(written_done) struct written w = {0};
	struct made_run m;
	char path[64];
	int r;

	strcpy(w.folder, "/tmp/test-recorder-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w.folder));
	snprintf(path, sizeof(path), "%s/trace", w.folder);
	run_begin(&m);
	ck_assert_int_eq(rec_making_new(m.names, &window, path, &making), 0);
	iterate_all(&m, REPEATED, making);
	if (_i == 0)
		add_rank(&m);
	if (_i == 1)
		mark(&m.rings[0], 1);
	if (_i == 2) {
		ring_call_at(&m.rings[0], "ncclGroupStart", 0, 0, NULL, 0);
		exchange_calls(&m.rings[0], 2, "ncclSend");
		end_group(&m.rings[0], m.rings[0].now_ns, m.rings[0].now_ns + 100);
	}
	m.late = 0;
	for (uint32_t i = 0; i < 40; i++) {
		for (uint32_t k = 0; k < m.n; k++)
			if (k != RANKS)
				iterate(&m, k, i, REPEATED);
		r = rec_making_more(making, m.p, m.n, NULL);
		if (r < 0)
			break;
	}
	ck_assert_int_eq(r, says[_i]);
	rec_making_drop(take(making));
	ck_assert_int_lt(access(path, F_OK), 0);
	run_end(&m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("making");
	TCase *tcase = tcase_create("making");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tcase, stretches_are_as_the_whole, 0, 9);
	tcase_add_loop_test(tcase, what_does_not_hold_is_said, 0, 3);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_VERBOSE);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
