/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/score.h"

#include "formats/trace/wrap.h"
#include "replay/engine/sim.h"
#include "replay/engine/timemap.h"

#include "base/array.h"
#include "base/scope.h"

/* Errors by size: 1 ns apart up to 256 ns, then 128 classes for each power of two. */
#define EXACT 256
#define CLASSES 128
#define N_CLASSES (EXACT + 56 * CLASSES)

struct rank_score {
	uint32_t thread; /* the track of the annotations, or SIM_NONE */
	struct timemap_carry carry;

	/* The use of the GPU's time, with a row for each iteration and for the time before and
	 * after. */
	struct fmt_busy_run recorded, emulated;
	int begun; /* the next slice belongs to the last row */
	int64_t emulated_start_ns;
};

/* A row of the report, and the index of its division. */
struct score_row {
	struct replay_row row;
	uint32_t rank;
	size_t busy; /* of the rank's */
};

struct score {
	const struct fmt_trace *trace;
	const struct fmt_names *names;
	struct rank_score *ranks;
	uint32_t n_ranks;
	struct timemap map;
	uint64_t errors[N_CLASSES], n_errors;
	int64_t largest_ns;
	struct score_row *rows;
	size_t n_rows, rows_cap;
};

int score_new(const struct fmt_trace *trace, struct score **ret)
{
	struct score *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->trace = trace;
	s->names = fmt_trace_names(trace);
	s->n_ranks = fmt_trace_n_ranks(trace);
	s->ranks = calloc(s->n_ranks + 1ul, sizeof(*s->ranks));
	if (!s->ranks) {
		score_free(s);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->n_ranks; i++)
		s->ranks[i].thread = SIM_NONE;
	*ret = s;
	return 0;
}

void score_free(struct score *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->ranks && i < s->n_ranks; i++) {
		fmt_busy_run_done(&s->ranks[i].recorded);
		fmt_busy_run_done(&s->ranks[i].emulated);
	}
	timemap_done(&s->map);
	free(s->ranks);
	free(s->rows);
	free(s);
}

/* ---- errors ---- */

static size_t class_of(uint64_t v)
{
	int top;

	if (v < EXACT)
		return (size_t)v;
	top = 63 - __builtin_clzll(v);
	return (size_t)(EXACT + (top - 8) * CLASSES) + (size_t)(v >> (top - 7) & (CLASSES - 1));
}

/* The largest error of a class. */
static int64_t class_end(size_t class)
{
	int top;
	uint64_t v;

	if (class < EXACT)
		return (int64_t) class;
	top = (int)(class - EXACT) / CLASSES + 8;
	v = (uint64_t)(CLASSES + (class - EXACT) % CLASSES + 1) << (top - 7);
	return v - 1 > INT64_MAX ? INT64_MAX : (int64_t)(v - 1);
}

static void note_error(struct score *s, int64_t error_ns)
{
	uint64_t v = error_ns < 0 ? -(uint64_t)error_ns : (uint64_t)error_ns;

	v = v > INT64_MAX ? INT64_MAX : v;
	s->errors[class_of(v)]++;
	s->n_errors++;
	if ((int64_t)v > s->largest_ns)
		s->largest_ns = (int64_t)v;
}

static int64_t error_at(const struct score *s, double share)
{
	uint64_t want = (uint64_t)((double)s->n_errors * share), seen = 0;

	for (size_t i = 0; i < N_CLASSES; i++) {
		seen += s->errors[i];
		if (seen > want)
			return class_end(i) < s->largest_ns ? class_end(i) : s->largest_ns;
	}
	return s->largest_ns;
}

/* ---- iterations ---- */

static int is_thread(const struct score *s, uint32_t rank, uint32_t track)
{
	const struct fmt_track *l = fmt_track(s->names, rank, track);

	return l && l->kind == FMT_THREAD;
}

int score_wants_ranges(const struct score *s, uint32_t rank)
{
	return s->ranks[rank].thread == SIM_NONE;
}

/* The thread with the iteration's range; else the thread with the most calls. */
static uint32_t find_thread(const struct score *s, uint32_t rank, const struct fmt_slice *slice)
{
	uint32_t best = SIM_NONE;
	size_t most = 0;

	for (size_t i = 0; i < slice->n_ranges; i++) {
		const struct fmt_event *e = &slice->ranges[i];

		if (e->start_ns == slice->iteration.start_ns &&
		    e->duration_ns == slice->iteration.duration_ns && is_thread(s, rank, e->track))
			return e->track;
	}
	for (size_t i = 0, end; i < slice->n_events; i = end) {
		uint32_t track = slice->events[i].track;

		for (end = i; end < slice->n_events && slice->events[end].track == track; end++)
			;
		if (end - i > most && is_thread(s, rank, track)) {
			most = end - i;
			best = track;
		}
	}
	return best;
}

static int place_thread(struct score *s, struct rank_score *r, const struct fmt_slice *slice,
			const int64_t *times)
{
	size_t at = 0, end;

	while (at < slice->n_events && slice->events[at].track != r->thread)
		at++;
	for (end = at; end < slice->n_events && slice->events[end].track == r->thread; end++)
		;
	return timemap_track(&s->map, &r->carry, slice, at, end, times);
}

static int collect(struct score *s, struct rank_score *r, const struct fmt_slice *slice,
		   const int64_t *times)
{
	int64_t moved_ns = fmt_sub(r->emulated_start_ns, slice->iteration.start_ns);

	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_template *template = fmt_template(s->names, e->template);

		if (!template || !FMT_IS_OP(template->kind))
			continue;
		if (fmt_busy_add(&r->recorded.ops, e->start_ns,
				 fmt_add(e->start_ns, e->duration_ns),
				 template->kind == FMT_COLLECTIVE) < 0 ||
		    fmt_busy_add(&r->emulated.ops, times[2 * i], times[2 * i + 1],
				 template->kind == FMT_COLLECTIVE) < 0)
			return -ENOMEM;
		if (slice->iteration.number >= 0)
			note_error(s, fmt_sub(times[2 * i], fmt_add(e->start_ns, moved_ns)));
	}
	return 0;
}

static int begin_row(struct score *s, struct rank_score *r, const struct fmt_slice *slice)
{
	if (r->begun)
		return 0;
	r->begun = 1;
	r->emulated_start_ns = timemap_emulated_ns(&s->map, slice->iteration.start_ns);
	if (fmt_busy_run_begin(&r->recorded, slice->iteration.start_ns) < 0)
		return -ENOMEM;
	return fmt_busy_run_begin(&r->emulated, r->emulated_start_ns);
}

static int add_row(struct score *s, uint32_t rank, const struct fmt_slice *slice)
{
	struct rank_score *r = &s->ranks[rank];
	const struct fmt_iteration *it = &slice->iteration;

	r->begun = 0;
	if (it->number < 0)
		return 0;
	if (array_reserve(&s->rows, s->n_rows + 1, &s->rows_cap) < 0)
		return -ENOMEM;
	s->rows[s->n_rows++] = (struct score_row){
		.rank = rank,
		.busy = r->recorded.n_rows - 1,
		.row.iteration = it->number,
		.row.gpu = fmt_trace_rank(s->trace, rank)->number,
		.row.recorded_step_ns = it->duration_ns,
		.row.emulated_step_ns = fmt_sub(
			timemap_emulated_ns(&s->map, fmt_add(it->start_ns, it->duration_ns)),
			r->emulated_start_ns),
	};
	return 0;
}

int score_slice(struct score *s, uint32_t rank, const struct fmt_slice *slice, const int64_t *times,
		int more)
{
	struct rank_score *r = &s->ranks[rank];

	if (r->thread == SIM_NONE && slice->iteration.number >= 0)
		r->thread = find_thread(s, rank, slice);
	if (place_thread(s, r, slice, times) < 0 || begin_row(s, r, slice) < 0 ||
	    collect(s, r, slice, times) < 0 || (!more && add_row(s, rank, slice) < 0))
		return -ENOMEM;
	timemap_save(&s->map, &r->carry);
	return 0;
}

static int by_iteration(const void *x, const void *y)
{
	const struct replay_row *a = x, *b = y;

	return array_order(a->iteration, b->iteration) ?: array_order(a->gpu, b->gpu);
}

/* Makes the rows of the iterations, and one row of the whole run for each GPU. */
static int finish_rows(struct score *s, struct replay_report *ret)
{
	ret->rows = calloc(s->n_rows + 1, sizeof(*ret->rows));
	ret->runs = calloc(s->n_ranks + 1ul, sizeof(*ret->runs));
	if (!ret->rows || !ret->runs)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_ranks; i++) {
		struct rank_score *r = &s->ranks[i];

		if (fmt_busy_run_end(&r->recorded) < 0 || fmt_busy_run_end(&r->emulated) < 0)
			return -ENOMEM;
		if (r->recorded.whole.device_ns == 0)
			continue;
		ret->runs[ret->n_runs++] = (struct replay_row){
			.gpu = fmt_trace_rank(s->trace, i)->number,
			.recorded = r->recorded.whole,
			.emulated = r->emulated.whole,
		};
	}
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct rank_score *r = &s->ranks[s->rows[i].rank];
		struct replay_row *row = &ret->rows[ret->n_rows++];

		*row = s->rows[i].row;
		row->recorded = r->recorded.rows[s->rows[i].busy];
		row->emulated = r->emulated.rows[s->rows[i].busy];
	}
	if (ret->n_rows > 0)
		qsort(ret->rows, ret->n_rows, sizeof(*ret->rows), by_iteration);
	return 0;
}

int score_finish(struct score *s, struct replay_report *ret)
{
	ret->n_gpus = s->n_ranks;
	ret->start_error_p50_ns = error_at(s, 0.5);
	ret->start_error_p95_ns = error_at(s, 0.95);
	ret->start_error_max_ns = s->largest_ns;
	return finish_rows(s, ret);
}
