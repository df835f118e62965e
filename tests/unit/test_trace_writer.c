/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/trace_writer.h"

#include "base/array.h"
#include "formats/trace/images.h"
#include "tests/unit/made_run.h"
#include "tests/unit/test.h"

#include <xxhash.h>

/* An event as read from the trace. */
struct seen {
	int64_t iteration, start_ns, duration_ns, seq;
	uint32_t rank, n_digests;
	uint64_t digest; /* combines all digests of the event */
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

static void add_digests(const struct fmt_slice *s, size_t event, struct seen *to)
{
	for (size_t i = 0; i < s->n_digests; i++) {
		const struct fmt_digest *d = &s->digests[i];

		if (d->op != s->first_number + event)
			continue;
		ck_assert_uint_eq(d->digest[0], s->pages[d->first_page]);
		to->n_digests++;
		to->digest += d->digest[0] + d->access;
	}
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
				const struct fmt_template *template = fmt_template(n, e->template);
				struct seen made = {.iteration = s->iteration.number,
						    .start_ns = e->start_ns,
						    .duration_ns = e->duration_ns,
						    .rank = rank};

				add_digests(s, i, &made);
				if (template->kind == FMT_COLLECTIVE)
					made.seq = s->values[e->first_value + FMT_COLLECTIVE_SEQ];
				snprintf(made.name, sizeof(made.name), "%s",
					 fmt_string(n, template->name, NULL));
				ck_assert_int_eq(array_reserve(&ret->seen, ret->n + 1, &ret->cap),
						 0);
				ret->seen[ret->n++] = made;
			}
		}
	qsort(ret->seen, ret->n, sizeof(*ret->seen), by_start);
}

static const struct rec_window all_of_it = {.first = -1, .last = -1};

/* Runs the first reading of the run, which keeps only the plan. */
static void find_plan(const struct made_run *of, enum way way, size_t segment, struct rec_plan *ret)
{
	struct made_run m;

	run_begin_in(&m, of->names, ret);
	m.segment = segment;
	m.digests = of->digests;
	m.messages = of->messages;
	m.joined = of->joined;
	m.ended = of->ended;
	iterate_all(&m, way, NULL);
	for (uint32_t i = 0; i < m.n; i++)
		ck_assert_uint_eq(m.p[i]->n_events, 0);
	ck_assert_int_eq(rec_plan_find(ret, m.p, m.n, m.names), 0);
	run_forget(&m);
}

static void write_segments(struct made_run *m, enum way way, const struct rec_window *of,
			   size_t segment, struct written *w)
{
	struct rec_window window = *of;
	scoped(rec_plan_done) struct rec_plan plan = {0};
	scoped(rec_trace_writer_freep) struct rec_trace_writer *making = NULL;
	const char *path = written_begin(w);
	struct fmt_error err = {0};

	window.segment = segment;
	find_plan(m, way, segment, &plan);
	ck_assert_int_eq(rec_trace_writer_new(m->names, &window, &plan, path, &making), 0);
	iterate_all(m, way, making);
	for (uint32_t i = 0; i < RANKS; i++)
		ck_assert_uint_lt(m->p[i]->n_events, 4 * segment);
	ck_assert_msg(rec_trace_writer_finish(making, m->p, m->n, &w->result, &err) == 0, "%s",
		      err.what);
	ck_assert_msg(fmt_trace_open(path, &w->trace, &err) == 0, "%s", err.what);
}

/* Every event is in both, and is the same. */
static void are_the_same(const struct all_seen *one, const struct all_seen *all, enum way way)
{
	ck_assert_uint_eq(one->n, all->n);
	for (size_t i = 0; i < one->n; i++) {
		const struct seen *x = &one->seen[i], *y = &all->seen[i];

		ck_assert_str_eq(x->name, y->name);
		ck_assert_int_eq(x->start_ns, y->start_ns);
		ck_assert_int_eq(x->duration_ns, y->duration_ns);
		ck_assert_int_eq(x->seq, y->seq);
		ck_assert_uint_eq(x->n_digests, y->n_digests);
		ck_assert_uint_eq(x->digest, y->digest);
		ck_assert_msg(way == UNMARKED || x->iteration == y->iteration,
			      "%s at %lld: %lld and %lld", x->name, (long long)x->start_ns,
			      (long long)x->iteration, (long long)y->iteration);
	}
}

/* The same run, written as a whole and in segments. */
struct both {
	struct made_run a, b;
	struct written whole, parts;
	struct all_seen one, all;
};

static void both_begin(struct both *m)
{
	*m = (struct both){0};
	run_begin(&m->a);
	run_begin(&m->b);
}

static void both_done(struct both *m)
{
	all_seen_done(&m->one);
	all_seen_done(&m->all);
	written_done(&m->whole);
	written_done(&m->parts);
	run_end(&m->a);
	run_end(&m->b);
}

/* Writes both runs with the same options. */
static void both_write(struct both *m, enum way way, const struct rec_window *window,
		       size_t segment)
{
	m->b.digests = m->a.digests;
	m->b.messages = m->a.messages;
	m->b.joined = m->a.joined;
	m->b.ended = m->a.ended;
	iterate_all(&m->a, way, NULL);
	write_window(m->a.p, m->a.n, m->a.names, window, &m->whole);
	write_segments(&m->b, way, window, segment, &m->parts);
	see(m->whole.trace, &m->one);
	see(m->parts.trace, &m->all);
}

static const size_t segment_lengths[] = {100, 160, 500};

/* One test for each way of marking iterations and segment length. Without marks or repetitions, the
 * iterations of the two traces may differ. */
TEST_EACH(segments_are_as_the_whole, 9)
{
	enum way way = (enum way)(_i / (int)ARRAY_SIZE(segment_lengths));
	size_t segment = segment_lengths[_i % (int)ARRAY_SIZE(segment_lengths)];
	scoped(both_done) struct both m;

	both_begin(&m);
	both_write(&m, way, &all_of_it, segment);
	are_the_same(&m.one, &m.all, way);
	ck_assert_uint_eq(m.whole.result.calls, m.parts.result.calls);
	ck_assert_uint_eq(m.whole.result.ops, m.parts.result.ops);
	ck_assert_uint_eq(m.whole.result.collectives, m.parts.result.collectives);
	ck_assert_uint_eq(m.parts.result.unmatched + m.parts.result.without_times, 0);
	if (way != UNMARKED)
		ck_assert_uint_eq(m.whole.result.n_iterations, m.parts.result.n_iterations);
	/* Edges between segments are lost; short segments lose many. */
	ck_assert_uint_ge(m.all.edges,
			  segment < 500 ? m.one.edges / 3 : m.one.edges - m.one.edges / 5);
	ck_assert_uint_eq(fmt_n_comms(fmt_trace_names(m.whole.trace)),
			  fmt_n_comms(fmt_trace_names(m.parts.trace)));
}

TEST(any_number_of_threads_makes_the_same_trace)
{
	scoped(written_done) struct written one = {0}, several = {0};
	scoped(run_end) struct made_run a;
	scoped(run_end) struct made_run b;
	char command[96];

	run_begin(&a);
	run_begin(&b);
	write_segments(&a, MARKED, &(struct rec_window){-1, -1, .threads = 1}, 100, &one);
	write_segments(&b, MARKED, &(struct rec_window){-1, -1, .threads = 4}, 100, &several);
	snprintf(command, sizeof(command), "diff -r %s %s", one.folder, several.folder);
	ck_assert_int_eq(system(command), 0);
}

/* Stores the content `code` and a record of it; all other contents are missing. */
static void keep_content(const char *folder, struct rec_process *p)
{
	static const char kept[] = "code";
	struct rec_image image = {.bytes = sizeof(kept), .stored = 1};
	const XXH128_hash_t name = XXH3_128bits(kept, sizeof(kept));
	char path[160];
	FILE *f;

	memcpy(image.name, (const uint64_t[]){name.low64, name.high64}, sizeof(image.name));
	rec_contents_path(folder, image.name, path, sizeof(path));
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fwrite(kept, sizeof(kept), 1, f);
	fclose(f);
	ck_assert_int_eq(array_reserve(&p->images, 1, &p->images_cap), 0);
	p->images[p->n_images++] = image;
}

/* Digests arrive before or after their operations. An operation is written after all its announced
 * digests have arrived. Contents and code images are looked up. */
TEST(digests_are_as_in_the_whole)
{
	scoped(written_done) struct written session = {0};
	struct rec_window window = {.first = -1, .last = -1, .last_content = INT64_MAX};
	scoped(both_done) struct both m;

	written_begin(&session);
	window.folder = session.folder;
	both_begin(&m);
	m.a.digests = true;
	keep_content(window.folder, m.a.p[0]);
	keep_content(window.folder, m.b.p[0]);
	both_write(&m, MARKED, &window, 100);
	are_the_same(&m.one, &m.all, MARKED);
	ck_assert_uint_eq(m.whole.result.digests, 4 * ROUNDS);
	ck_assert_uint_eq(m.parts.result.digests, 4 * ROUNDS);
	ck_assert_uint_eq(m.parts.result.contents.missing[REC_CONTENTS_ABSENT], ROUNDS);
	ck_assert_uint_eq(m.whole.result.contents.missing[REC_CONTENTS_ABSENT], ROUNDS);
	ck_assert_uint_eq(m.parts.result.contents.kept, 1);
	ck_assert_str_eq(
		fmt_fact_value(fmt_trace_names(m.parts.trace), FMT_WHOLE_TRACE, FMT_FACT_IMAGES),
		fmt_fact_value(fmt_trace_names(m.whole.trace), FMT_WHOLE_TRACE, FMT_FACT_IMAGES));
	ck_assert_uint_lt(m.b.p[0]->buffers.n_digests + m.b.p[0]->buffers.n_pages +
				  m.b.p[1]->buffers.n_digests,
			  100);
	ck_assert_uint_eq(m.b.p[0]->counts.late_digests + m.b.p[1]->counts.late_digests, 0);
}

/* Sends and receives match as in the whole run, even if they lie in different segments; sequence
 * numbers rise on each rank. */
TEST_EACH(messages_meet_as_in_the_whole, 3)
{
	static const size_t lengths[] = {60, 100, 500};
	scoped(both_done) struct both m;

	both_begin(&m);
	m.a.messages = true;
	both_write(&m, MARKED, &all_of_it, lengths[_i]);
	are_the_same(&m.one, &m.all, MARKED);
	ck_assert_uint_eq(m.parts.result.collectives, 4 * ROUNDS);
	ck_assert_uint_eq(m.parts.result.unmatched, 0);
	ck_assert_uint_lt(m.b.p[0]->nccl.n_collectives + m.b.p[0]->nccl.n_messages, lengths[_i]);
}

/* A rank's communicators, with the number of their collectives before the window. */
static const char *members(const struct written *w, uint32_t rank)
{
	return fmt_fact_value(fmt_trace_names(w->trace), rank, FMT_MEMBERSHIPS_KEY);
}

/* A window of iterations contains the same events as in the whole run. */
TEST_EACH(windows_are_as_of_the_whole, 18)
{
	static const struct rec_window windows[] = {
		{.first = 20, .last = 45}, {.first = 0, .last = 12}, {.first = 30, .last = 100}};
	const struct rec_window *window = &windows[_i / 3 % (int)ARRAY_SIZE(windows)];
	enum way way = _i >= 3 * (int)ARRAY_SIZE(windows) ? REPEATED : MARKED;
	scoped(both_done) struct both m;

	both_begin(&m);
	both_write(&m, way, window, segment_lengths[_i % 3]);
	are_the_same(&m.one, &m.all, way);
	ck_assert_uint_eq(m.whole.result.n_iterations, m.parts.result.n_iterations);
	for (uint32_t i = 0; i < RANKS; i++)
		ck_assert_str_eq(members(&m.whole, i), members(&m.parts, i));
}

/* A rank that begins after other ranks were written is recorded like them. Those may end at that
 * time and do not delay the others. */
TEST_EACH(a_rank_may_begin_late, 6)
{
	enum way way = (enum way)(_i / 2);
	scoped(both_done) struct both m;

	both_begin(&m);
	m.a.joined = true;
	m.a.ended = _i % 2;
	both_write(&m, way, &all_of_it, 160);
	if (way != UNMARKED) /* without marks, more events are kept */
		ck_assert_uint_lt(m.b.p[RANKS + 1]->n_events, 250);
	ck_assert_uint_eq(fmt_trace_n_ranks(m.parts.trace), RANKS + 1);
	are_the_same(&m.one, &m.all, way);
	ck_assert_uint_eq(m.parts.result.n_ranks, RANKS + 1);
}

static void begin_with_dead(struct made_run *m, struct fmt_names *names, struct rec_plan *plan)
{
	if (plan)
		run_begin_in(m, names, plan);
	else
		run_begin(m);
	add_rank(m);
	operation(&m->rings[RANKS + 1], ring_launch(&m->rings[RANKS + 1], KERNEL, STREAM));
	ring_launch(&m->rings[RANKS + 1], KERNEL, STREAM);
	ring_look(&m->rings[RANKS + 1]);
}

/* A killed process does not delay the others: its outstanding records never arrive. */
TEST(a_dead_process_holds_nothing_up)
{
	const struct rec_window window = {.first = -1, .last = -1, .segment = 40};
	scoped(rec_plan_done) struct rec_plan plan = {0};
	scoped(rec_trace_writer_freep) struct rec_trace_writer *making = NULL;
	scoped(written_done) struct written w = {0};
	struct made_run first;
	scoped(run_end) struct made_run m;
	const char *path = written_begin(&w);

	begin_with_dead(&m, NULL, NULL);
	begin_with_dead(&first, m.names, &plan);
	iterate_all(&first, MARKED, NULL);
	ck_assert_int_eq(rec_plan_find(&plan, first.p, first.n, first.names), 0);
	run_forget(&first);
	ck_assert_int_eq(rec_trace_writer_new(m.names, &window, &plan, path, &making), 0);
	iterate_all(&m, MARKED, making);
	for (uint32_t i = 0; i < m.n; i++)
		ck_assert_uint_lt(m.p[i]->n_events, 4 * window.segment);
	ck_assert_int_eq(rec_trace_writer_finish(making, m.p, m.n, &w.result, NULL), 0);
	ck_assert_uint_eq(w.result.without_times, 1);
}

/* A second reading that finds more than the first one is refused. */
TEST(a_recording_that_changes_is_refused)
{
	const struct rec_window window = {.first = -1, .last = -1, .segment = 40};
	scoped(rec_plan_done) struct rec_plan plan = {0};
	scoped(rec_trace_writer_freep) struct rec_trace_writer *making = NULL;
	struct rec_trace_counts result;
	scoped(run_end) struct made_run m;

	run_begin(&m);
	ck_assert_int_eq(rec_plan_find(&plan, m.p, m.n, m.names), 0);
	ck_assert_int_eq(rec_trace_writer_new(m.names, &window, &plan, "/nowhere", &making), 0);
	for (uint32_t i = 0; i < RANKS; i++)
		iterate(&m, i, 0, MARKED);
	ck_assert_int_eq(rec_trace_writer_finish(making, m.p, m.n, &result, NULL), -EBADMSG);
}
