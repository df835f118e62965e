/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/reporter.h"

#include "formats/trace/wrap.h"
#include "replay/engine/timemap.h"
#include "replay/what_if/copies.h"

#include "base/array.h"
#include "base/scope.h"

#include <stdbool.h>
#include <stdlib.h>

/* Errors by size: 1 ns apart up to 256 ns, then 128 classes for each power of two. */
#define EXACT 256
#define CLASSES 128
#define N_CLASSES (EXACT + 56 * CLASSES)

/* The times of a run: recorded, emulated, then its variants. */
enum { RECORDED, EMULATED, FIRST_VARIANT };

/* A rank in one of the runs. */
struct side {
	struct timemap_carry carry;
	int64_t start_ns; /* of the iteration */
	int64_t apart_ns; /* as in struct score_row, of the iteration's start */

	/* The use of the GPU's time, with a row for each iteration and for the time before and
	 * after. */
	struct fmt_busy_run busy;
};

struct rank_score {
	uint32_t thread; /* the track of the annotations, or SIM_NONE */
	struct side *sides;
	int begun; /* the next slice belongs to the last row */
};

/* A row of the report, and the index of its division. */
struct score_row {
	int64_t iteration;
	uint32_t rank;
	size_t busy;	  /* of the rank's */
	int64_t apart_ns; /* from the ends of the iteration to the nearest points of its thread */
};

/* An operation of the current slice. */
struct score_op {
	uint32_t event;
	uint8_t collective;
};

struct reporter {
	const struct fmt_trace *trace;
	const struct fmt_names *names;
	const struct change *change;
	struct path *path;
	const struct copies *copies;
	struct rank_score *ranks;
	uint32_t n_ranks;
	uint32_t n_sides;
	uint32_t n_predicted;
	bool shares;	 /* ranks share a process */
	uint32_t n_busy; /* number of sides whose GPU time is divided */
	struct timemap map;
	struct score_op *ops;
	size_t n_ops, ops_cap;
	uint64_t errors[N_CLASSES], n_errors;
	int64_t largest_ns;
	struct score_row *rows;
	size_t n_rows, rows_cap;
	int64_t *steps_ns; /* by row, then side */
	size_t steps_cap;
};

int reporter_new(const struct fmt_trace *trace, const struct change *change, uint32_t n_predicted,
		 int divide, struct path *path, const struct copies *copies, struct reporter **ret)
{
	struct reporter *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->trace = trace;
	s->names = fmt_trace_names(trace);
	s->n_ranks = copies ? copies->n_ranks : fmt_trace_n_ranks(trace);
	s->change = change;
	s->path = path;
	s->copies = copies;
	s->n_sides = FIRST_VARIANT + (change ? change_n_variants(change) : 0);
	s->n_predicted = n_predicted;
	s->n_busy = FIRST_VARIANT + (divide ? n_predicted : 0);
	s->ranks = calloc(s->n_ranks + 1ul, sizeof(*s->ranks));
	if (!s->ranks) {
		reporter_free(s);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->n_ranks; i++) {
		s->ranks[i].thread = SIM_NONE;
		s->shares |= !copies && fmt_fact_value(s->names, i, FMT_FACT_PROCESS) != NULL;
		s->ranks[i].sides = calloc(s->n_sides, sizeof(*s->ranks[i].sides));
		if (!s->ranks[i].sides) {
			reporter_free(s);
			return -ENOMEM;
		}
	}
	*ret = s;
	return 0;
}

void reporter_free(struct reporter *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->ranks && i < s->n_ranks; i++) {
		for (uint32_t k = 0; s->ranks[i].sides && k < s->n_busy; k++)
			fmt_busy_run_done(&s->ranks[i].sides[k].busy);
		free(s->ranks[i].sides);
	}
	timemap_done(&s->map);
	free(s->ops);
	free(s->ranks);
	free(s->rows);
	free(s->steps_ns);
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

static void note_error(struct reporter *s, int64_t error_ns)
{
	uint64_t v = error_ns < 0 ? -(uint64_t)error_ns : (uint64_t)error_ns;

	v = v > INT64_MAX ? INT64_MAX : v;
	s->errors[class_of(v)]++;
	s->n_errors++;
	if ((int64_t)v > s->largest_ns)
		s->largest_ns = (int64_t)v;
}

static int64_t error_at(const struct reporter *s, double share)
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

static int is_thread(const struct reporter *s, uint32_t rank, uint32_t track)
{
	uint32_t source = s->copies ? s->copies->source[rank] : rank;
	const struct fmt_track *l = fmt_track(s->names, source, track);

	return l && l->kind == FMT_THREAD;
}

int reporter_needs_ranges(const struct reporter *s, uint32_t rank)
{
	return s->ranks[rank].thread == SIM_NONE;
}

/* Returns the thread with the iteration's range; else the thread with the most calls. */
static uint32_t find_thread(const struct reporter *s, uint32_t rank, const struct fmt_slice *slice)
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

/* Maps the iteration's thread. The variants share the points of the emulated run. */
static int place_thread(struct reporter *s, const struct rank_score *r, uint32_t index,
			const struct fmt_slice *slice, const int64_t *times)
{
	const struct side *side = &r->sides[index];
	size_t at = 0, end;

	if (index > EMULATED)
		return timemap_variant(&s->map, &side->carry, times), 0;
	while (at < slice->n_events && slice->events[at].track != r->thread)
		at++;
	for (end = at; end < slice->n_events && slice->events[end].track == r->thread; end++)
		;
	return timemap_add_track(&s->map, &side->carry, slice, at, end, times);
}

/* Lists the operations of the slice. */
static int find_ops(struct reporter *s, const struct fmt_slice *slice)
{
	s->n_ops = 0;
	if (array_reserve(&s->ops, slice->n_events, &s->ops_cap) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_template *template =
			fmt_template(s->names, slice->events[i].template);

		if (template && FMT_IS_OP(template->kind))
			s->ops[s->n_ops++] =
				(struct score_op){(uint32_t)i, template->kind == FMT_COLLECTIVE};
	}
	return 0;
}

/* Adds the operations to the division; `times`: NULL: as recorded. */
static int collect_ops(const struct reporter *s, struct side *side, const struct fmt_slice *slice,
		       const int64_t *times)
{
	struct fmt_busy_ops *ops = &side->busy.ops;

	if (array_reserve(&ops->op, ops->n + s->n_ops, &ops->cap) < 0)
		return -ENOMEM;
	for (size_t k = 0; k < s->n_ops; k++) {
		uint32_t i = s->ops[k].event;
		const struct fmt_event *e = &slice->events[i];
		int64_t start_ns = times ? times[2 * i] : e->start_ns;
		int64_t end_ns = times ? times[2 * i + 1] : fmt_add(e->start_ns, e->duration_ns);

		if (fmt_busy_add(ops, start_ns, end_ns, s->ops[k].collective) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void note_errors(struct reporter *s, const struct side *emulated,
			const struct fmt_slice *slice, const int64_t *times)
{
	int64_t moved_ns = fmt_sub(emulated->start_ns, slice->iteration.start_ns);

	for (size_t k = 0; k < s->n_ops && slice->iteration.number >= 0; k++) {
		uint32_t i = s->ops[k].event;

		note_error(s, fmt_sub(times[2 * i], fmt_add(slice->events[i].start_ns, moved_ns)));
	}
}

/* Adds the slice in a run; `times` NULL: as recorded. `step_ns` NULL: the iteration continues. */
static int add_side(struct reporter *s, struct rank_score *r, uint32_t index,
		    const struct fmt_slice *slice, const int64_t *times, int64_t *step_ns)
{
	const struct fmt_iteration *it = &slice->iteration;
	int64_t end_ns = fmt_add(it->start_ns, it->duration_ns);
	struct side *side = &r->sides[index];

	s->map.host = index >= FIRST_VARIANT ? change_host_factor(s->change, index - FIRST_VARIANT,
								  (uint32_t)(r - s->ranks))
					     : 1;
	if (times && place_thread(s, r, index, slice, times) < 0)
		return -ENOMEM;
	if (!r->begun) {
		side->start_ns = times ? timemap_emulated_ns(&s->map, it->start_ns) : it->start_ns;
		if (index == EMULATED && s->shares)
			side->apart_ns = timemap_distance_ns(&s->map, it->start_ns);
		if (index < s->n_busy && fmt_busy_run_begin(&side->busy, side->start_ns) < 0)
			return -ENOMEM;
	}
	if (index < s->n_busy && collect_ops(s, side, slice, times) < 0)
		return -ENOMEM;
	if (index == EMULATED)
		note_errors(s, side, slice, times);
	if (step_ns && !times)
		*step_ns = it->duration_ns;
	else if (step_ns)
		*step_ns = fmt_sub(timemap_emulated_ns(&s->map, end_ns), side->start_ns);
	if (step_ns && index == EMULATED && s->shares)
		s->rows[s->n_rows - 1].apart_ns =
			fmt_add(side->apart_ns, timemap_distance_ns(&s->map, end_ns));
	if (times)
		timemap_save(&s->map, &side->carry);
	return 0;
}

static int add_row(struct reporter *s, uint32_t rank, const struct fmt_slice *slice)
{
	if (array_reserve(&s->rows, s->n_rows + 1, &s->rows_cap) < 0 ||
	    array_reserve(&s->steps_ns, (s->n_rows + 1) * s->n_sides, &s->steps_cap) < 0)
		return -ENOMEM;
	s->rows[s->n_rows++] = (struct score_row){
		.iteration = slice->iteration.number,
		.rank = rank,
		.busy = s->ranks[rank].sides[RECORDED].busy.n_rows - !!s->ranks[rank].begun,
	};
	return 0;
}

int reporter_add_slice(struct reporter *s, uint32_t rank, const struct fmt_slice *slice,
		       const int64_t *times, const int64_t *variants, int more)
{
	struct rank_score *r = &s->ranks[rank];
	uint32_t source = s->copies ? s->copies->source[rank] : rank;
	int last = slice->index + 1 == fmt_trace_rank(s->trace, source)->n_slices;
	int64_t *steps_ns = NULL;

	if (find_ops(s, slice) < 0)
		return -ENOMEM;
	if (r->thread == SIM_NONE && slice->iteration.number >= 0)
		r->thread = find_thread(s, rank, slice);
	if (!more && slice->iteration.number >= 0) {
		if (add_row(s, rank, slice) < 0)
			return -ENOMEM;
		steps_ns = &s->steps_ns[(s->n_rows - 1) * s->n_sides];
	}
	for (uint32_t k = 0; k < s->n_sides; k++) {
		const int64_t *of = k == RECORDED ? NULL
				    : k == EMULATED
					    ? times
					    : variants + (k - FIRST_VARIANT) * 2 * slice->n_events;

		if (add_side(s, r, k, slice, of, steps_ns ? &steps_ns[k] : NULL) < 0)
			return -ENOMEM;
	}
	for (uint32_t k = EMULATED; s->path && steps_ns && k < EMULATED + 1 + s->n_predicted; k++)
		path_set_iteration(s->path, k - EMULATED, rank, slice, r->thread,
				   r->sides[k].start_ns,
				   fmt_add(r->sides[k].start_ns, steps_ns[k]));
	r->begun = more;
	for (uint32_t k = 0; last && k < s->n_busy; k++)
		if (fmt_busy_run_end(&r->sides[k].busy) < 0)
			return -ENOMEM;
	return 0;
}

static int by_iteration(const void *x, const void *y)
{
	const struct replay_row *a = x, *b = y;

	return array_order(a->iteration, b->iteration) ?: array_order(a->gpu, b->gpu);
}

static uint32_t number_of(const struct reporter *s, uint32_t rank)
{
	return s->copies ? s->copies->numbers[rank] : fmt_trace_rank(s->trace, rank)->number;
}

static void add_runs(const struct reporter *s, struct replay_report *ret)
{
	for (uint32_t i = 0; i < s->n_ranks; i++) {
		const struct side *sides = s->ranks[i].sides;

		if (sides[RECORDED].busy.whole.device_ns == 0)
			continue;
		ret->runs[ret->n_runs++] = (struct replay_row){
			.gpu = number_of(s, i),
			.recorded = sides[RECORDED].busy.whole,
			.emulated = sides[EMULATED].busy.whole,
		};
	}
}

static void add_predictions(const struct reporter *s, const struct score_row *row,
			    const int64_t *steps_ns, struct replay_prediction *to)
{
	for (uint32_t k = 0; k < s->n_predicted; k++) {
		to[k].step_ns = steps_ns[FIRST_VARIANT + k];
		if (FIRST_VARIANT + k < s->n_busy)
			to[k].busy =
				s->ranks[row->rank].sides[FIRST_VARIANT + k].busy.rows[row->busy];
	}
}

/* Returns the process of a row's rank, if several ranks share it; else 0. */
static fmt_str process_of(const struct reporter *s, const struct score_row *row)
{
	const char *v = fmt_fact_value(s->names, row->rank, FMT_FACT_PROCESS);

	return v ? (fmt_str)strtoul(v, NULL, 10) : 0;
}

static int by_process(const void *x, const void *y, void *reporter)
{
	const struct reporter *s = reporter;
	const struct score_row *a = &s->rows[*(const size_t *)x], *b = &s->rows[*(const size_t *)y];

	return array_order(process_of(s, a), process_of(s, b))
	       ?: array_order(a->iteration, b->iteration)
	       ?: array_order(a->apart_ns, b->apart_ns)
	       ?: array_order(a->rank, b->rank);
}

static bool same_step(const struct reporter *s, size_t a, size_t b)
{
	return process_of(s, &s->rows[a]) > 0 && s->rows[a].iteration == s->rows[b].iteration &&
	       process_of(s, &s->rows[a]) == process_of(s, &s->rows[b]) &&
	       s->steps_ns[a * s->n_sides] == s->steps_ns[b * s->n_sides];
}

/* Ranks of one process have the same iterations: their end is taken from the rank whose thread was
 * active nearest to it. */
static int share_steps(struct reporter *s)
{
	scoped(free_ptr) size_t *order = NULL;

	if (!s->shares || s->n_rows == 0)
		return 0;
	order = malloc(s->n_rows * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_rows; i++)
		order[i] = i;
	qsort_r(order, s->n_rows, sizeof(*order), by_process, s);
	for (size_t i = 1; i < s->n_rows; i++)
		if (same_step(s, order[i - 1], order[i]))
			memcpy(&s->steps_ns[order[i] * s->n_sides],
			       &s->steps_ns[order[i - 1] * s->n_sides],
			       s->n_sides * sizeof(*s->steps_ns));
	return 0;
}

/* Makes the rows of the iterations, and one row of the whole run for each GPU. */
static int finish_rows(struct reporter *s, struct replay_report *ret)
{
	size_t n_predicted = s->n_predicted;

	ret->rows = calloc(s->n_rows + 1, sizeof(*ret->rows));
	ret->runs = calloc(s->n_ranks + 1ul, sizeof(*ret->runs));
	ret->predicted = calloc(s->n_rows * n_predicted + 1, sizeof(*ret->predicted));
	if (!ret->rows || !ret->runs || !ret->predicted || share_steps(s) < 0)
		return -ENOMEM;
	add_runs(s, ret);
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct score_row *row = &s->rows[i];
		const struct side *sides = s->ranks[row->rank].sides;
		const int64_t *steps_ns = &s->steps_ns[i * s->n_sides];

		ret->rows[ret->n_rows++] = (struct replay_row){
			.iteration = row->iteration,
			.gpu = number_of(s, row->rank),
			.recorded_step_ns = steps_ns[RECORDED],
			.emulated_step_ns = steps_ns[EMULATED],
			.recorded = sides[RECORDED].busy.rows[row->busy],
			.emulated = sides[EMULATED].busy.rows[row->busy],
			.predicted = &ret->predicted[i * n_predicted],
		};
		add_predictions(s, row, steps_ns, &ret->predicted[i * n_predicted]);
		ret->emulated_ns += (double)steps_ns[EMULATED];
		ret->host_only_ns += (double)steps_ns[s->n_sides - 1];
	}
	if (ret->n_rows > 0)
		qsort(ret->rows, ret->n_rows, sizeof(*ret->rows), by_iteration);
	return 0;
}

int reporter_finish(struct reporter *s, struct replay_report *ret)
{
	ret->n_gpus = s->n_ranks;
	ret->start_error_p50_ns = error_at(s, 0.5);
	ret->start_error_p95_ns = error_at(s, 0.95);
	ret->start_error_max_ns = s->largest_ns;
	return finish_rows(s, ret);
}
