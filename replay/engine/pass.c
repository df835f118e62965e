/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/emulate_impl.h"

#include "formats/run/infer/constants.h"

#include "formats/trace/fact_keys.h"
#include "replay/engine/reporter.h"
#include "replay/engine/rewrite.h"
#include "replay/engine/simulate.h"
#include "replay/report/stability.h"
#include "replay/what_if/change.h"
#include "replay/what_if/copies.h"
#include "replay/what_if/straggler.h"

#include "base/scope.h"

#include <errno.h>
#include <inttypes.h>

/* Maximum share of unmatched collectives in the steps for a change of the network. */
#define UNMATCHED_SHARE 0.005

/* A run with fewer events, or fewer in each slice, is emulated in one thread. */
#define THREAD_EVENTS 65536
#define THREAD_SLICE_EVENTS 256

struct emulation {
	const struct pass *pass;
	struct fmt_trace *trace;
	uint32_t n_ranks;
	struct copies *copies;	  /* NULL: as recorded */
	uint32_t *numbers;	  /* of the recorded ranks */
	uint32_t *source;	  /* by rank: the recorded one */
	uint32_t *source_numbers; /* its number */
	uint32_t *next;		  /* slice to load, by rank */
	uint32_t *taken;	  /* slices, by rank */
	struct change *change;	  /* NULL: no variants */
	float *stragglers;	  /* see change.h; NULL: not needed */
	struct reporter *reporter;
	struct stability *stability; /* NULL: not wanted */
	struct path *path;	     /* NULL: not wanted */
	struct rewrite *rewrite;     /* NULL: no output */
	uint64_t n_slices, n_taken;
};

static void emulation_done(struct emulation *e)
{
	rewrite_free(e->rewrite);
	reporter_free(e->reporter);
	stability_free(e->stability);
	path_free(e->path);
	change_free(e->change);
	free(e->stragglers);
	copies_free(e->copies);
	free(e->numbers);
	free(e->source);
	free(e->source_numbers);
	free(e->next);
	free(e->taken);
}

static uint32_t n_slices(const struct emulation *e, uint32_t rank)
{
	return fmt_trace_rank(e->trace, e->source[rank])->n_slices;
}

static const struct fmt_slice_info *slice_of(const struct emulation *e, uint32_t rank,
					     uint32_t index)
{
	return fmt_trace_slice(e->trace, e->source[rank], index);
}

/* Returns 1 if slice `index` + 1 of the rank belongs to the same iteration. */
static int continues(const struct emulation *e, uint32_t rank, uint32_t index)
{
	const struct fmt_slice_info *a, *b;

	if (index + 1 >= n_slices(e, rank))
		return 0;
	a = slice_of(e, rank, index);
	b = slice_of(e, rank, index + 1);
	return a->iteration.number == b->iteration.number;
}

static int next_slice(void *context, uint32_t rank, struct fmt_slice **ret, int *more,
		      struct fmt_error *err)
{
	struct emulation *e = context;
	uint32_t index = e->next[rank];
	unsigned want = FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_EDGES;
	int r;

	if (index == n_slices(e, rank))
		return 0;
	if (e->rewrite)
		want = FMT_WANT_ALL;
	else if (reporter_needs_ranges(e->reporter, rank))
		want |= FMT_WANT_RANGES;
	r = fmt_slice_load(e->trace, e->source[rank], index, want, ret, err);
	if (r < 0)
		return r;
	e->next[rank]++;
	*more = continues(e, rank, index);
	return 1;
}

static int take_times(void *context, uint32_t rank, struct fmt_slice *slice, const int64_t *times,
		      const int64_t *variants, struct fmt_error *err)
{
	scoped(fmt_slice_freep) struct fmt_slice *s = slice;
	struct emulation *e = context;
	const struct replay_options *options = e->pass->options;
	uint32_t index = e->taken[rank]++;
	int more = continues(e, rank, index);
	int r = reporter_add_slice(e->reporter, rank, s, times, variants, more);

	if (r == 0 && e->stability)
		r = stability_slice(e->stability, rank, s,
				    s->iteration.number >= 0 && !more &&
					    (index == 0 || !continues(e, rank, index - 1)));
	if (r == 0 && e->rewrite)
		r = rewrite_add_slice(e->rewrite, rank, s, e->pass->n_specs > 0 ? variants : times,
				      err);
	e->n_taken++;
	if (options->progress)
		options->progress(options->context, (double)e->n_taken / (double)e->n_slices);
	return r;
}

static void drop_slice(void *context, struct fmt_slice *slice)
{
	fmt_slice_free(slice);
}

static int add_change(struct emulation *e, struct fmt_error *err)
{
	struct what_if_error why = {0};
	uint32_t bad;
	int r = change_new(e->pass->specs, e->pass->n_specs, fmt_trace_names(e->trace),
			   e->source_numbers, e->n_ranks, &e->change, &bad, &why);

	if (r == 0 && change_has_straggler(e->change)) {
		uint32_t n;

		r = straggler_factors(e->trace, &e->stragglers, &n, err);
		if (r == 0)
			change_set_straggler(e->change, e->stragglers, n);
	}
	if (r != -EINVAL)
		return r;
	return fmt_fail(err, r, "", FMT_NO_OFFSET, "%s: %s", e->pass->specs[bad]->spec, why.why);
}

/* The first slice of the rank from which on at most `most` times of a run follow, and which begins
 * an iteration. */
static uint32_t first_within(const struct emulation *e, uint32_t rank, uint64_t most)
{
	uint32_t n = n_slices(e, rank), first = n;
	uint64_t times = 0;

	for (uint32_t i = n; i-- > 0;) {
		const struct fmt_slice_info *info = slice_of(e, rank, i);

		for (int kind = FMT_CALL; kind <= FMT_SYNC; kind++)
			times += 2 * info->n_records[kind];
		if (times > most)
			break;
		if (i == 0 || !continues(e, rank, i - 1))
			first = i;
	}
	return first;
}

/* Returns 1 if decoding and scoring slices takes long enough for another thread: many events, and
 * many in each slice. */
static int wants_thread(const struct emulation *e)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->n_ranks; i++)
		for (int kind = FMT_CALL; kind <= FMT_SYNC; kind++)
			n += fmt_trace_rank(e->trace, e->source[i])->n_records[kind];
	return n >= THREAD_EVENTS && n / e->n_slices >= THREAD_SLICE_EVENTS;
}

/* Compares the iteration of a slice, or the end of the rank, with another iteration. */
static int order_of(const struct emulation *e, uint32_t rank, uint32_t slice, int64_t number)
{
	return slice == n_slices(e, rank)
		       ? 0
		       : fmt_iteration_order(slice_of(e, rank, slice)->iteration.number, number);
}

/* Makes the path over the last iterations, as many as fit for all ranks. */
static int add_path(struct emulation *e)
{
	scoped(free_ptr) uint32_t *first = calloc(e->n_ranks + 1ul, sizeof(*first));
	uint32_t n_runs = 1 + e->pass->n_specs;
	int64_t from = FMT_BEFORE;

	if (!first)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->n_ranks; i++) {
		first[i] = first_within(e, i, PATH_TIMES / e->pass->n_runs / e->n_ranks);
		if (order_of(e, i, first[i], from) > 0)
			from = slice_of(e, i, first[i])->iteration.number;
	}
	for (uint32_t i = 0; i < e->n_ranks; i++)
		while (order_of(e, i, first[i], from) < 0)
			first[i]++;
	return path_new(fmt_trace_names(e->trace), e->n_ranks, n_runs, first, e->source, &e->path);
}

/* Lists the ranks of the run, and the recorded ranks that they repeat. */
static int add_ranks(struct emulation *e, struct fmt_error *err)
{
	const struct what_if_structure *structure = &e->pass->structure;
	uint32_t n = fmt_trace_n_ranks(e->trace);
	struct what_if_error why = {0};
	int r = 0;

	e->numbers = calloc(n + 1ul, sizeof(*e->numbers));
	if (!e->numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		e->numbers[i] = fmt_trace_rank(e->trace, i)->number;
	if (structure->copies > 0)
		r = copies_new(fmt_trace_names(e->trace), e->numbers, n, structure->copies,
			       &e->copies, &why);
	if (r == -EINVAL)
		return fmt_fail(err, r, "", FMT_NO_OFFSET, "%s: %s", e->pass->specs[0]->spec,
				why.why);
	if (r == 0 && e->copies && e->pass->out_path)
		return fmt_fail(err, -EINVAL, "", FMT_NO_OFFSET,
				"%s: a run with other ranks cannot be written as a trace",
				e->pass->specs[0]->spec);
	e->n_ranks = e->copies ? e->copies->n_ranks : n;
	return r;
}

static int emulation_init(struct emulation *e, struct fmt_error *err)
{
	const struct pass *pass = e->pass;
	int r = add_ranks(e, err);

	if (r < 0)
		return r;
	e->source = calloc(e->n_ranks + 1ul, sizeof(*e->source));
	e->source_numbers = calloc(e->n_ranks + 1ul, sizeof(*e->source_numbers));
	e->next = calloc(e->n_ranks + 1ul, sizeof(*e->next));
	e->taken = calloc(e->n_ranks + 1ul, sizeof(*e->taken));
	if (!e->source || !e->source_numbers || !e->next || !e->taken)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->n_ranks; i++) {
		e->source[i] = e->copies ? e->copies->source[i] : i;
		e->source_numbers[i] = e->numbers[e->source[i]];
		e->n_slices += n_slices(e, i);
	}
	r = add_change(e, err);
	if (r == 0)
		change_set_copies(e->change, e->copies);
	if (r == 0 && pass->options->explain)
		r = add_path(e);
	if (r == 0)
		r = reporter_new(e->trace, e->change, pass->n_specs, !pass->options->steps_only,
				 e->path, e->copies, &e->reporter);
	if (r == 0 && pass->options->n_what_ifs == 0)
		r = stability_new(fmt_trace_names(e->trace), e->n_ranks, &e->stability);
	if (r < 0 || !pass->out_path)
		return r;
	return rewrite_new(e->trace, pass->out_path,
			   pass->n_specs > 0 ? e->pass->specs[0]->spec : NULL, e->change,
			   &e->rewrite, err);
}

static uint64_t recorded_unexplained(const struct emulation *e)
{
	struct fmt_constants c;
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->n_ranks; i++) {
		if (fmt_constants_get(fmt_trace_names(e->trace), e->source[i], &c) &&
		    c.unexplained > 0)
			n += (uint64_t)c.unexplained;
	}
	return n;
}

static uint64_t recorded_within(const struct emulation *e)
{
	const char *value =
		fmt_fact_value(fmt_trace_names(e->trace), FMT_WHOLE_TRACE, FMT_WITHIN_KEY);

	return value ? strtoull(value, NULL, 10) : 0;
}

/* Refuses changes that a large part of the run cannot follow. */
static int check_network(const struct emulation *e, const struct replay_report *report,
			 struct fmt_error *err)
{
	double unmatched = (double)report->unmatched_ns, all = report->emulated_ns;
	double no_latency = (double)report->no_latency_ns;
	/* Several ranks are there, but do not wait for each other. */
	int is_apart = e->n_ranks > 1 && (double)report->alone_ns > UNMATCHED_SHARE * all;

	for (uint32_t i = 0; i < e->pass->n_specs && !e->pass->options->force; i++) {
		if (no_latency > UNMATCHED_SHARE * all && change_splits_network(e->change, i))
			return fmt_fail(
				err, -ENODATA, "", FMT_NO_OFFSET,
				"%s: the latency of %" PRIu64
				" collectives is unknown, because all their messages have one "
				"size or an unknown size",
				e->pass->specs[i]->spec, report->no_latency);
		if (unmatched > UNMATCHED_SHARE * all &&
		    (change_needs_ranks(e->change, i) || is_apart))
			return fmt_fail(err, -ENODATA, "", FMT_NO_OFFSET,
					"%s: the recorded durations of %" PRIu64
					" collectives (%.1f%% of the run) include wait time for "
					"ranks that the trace does not contain or match, and "
					"cannot be scaled",
					e->pass->specs[i]->spec, report->unmatched,
					all > 0 ? 100 * unmatched / all : 100.0);
	}
	return 0;
}

static int finish_report(struct emulation *e, struct replay_report *ret)
{
	int r = reporter_finish(e->reporter, ret);

	if (r == 0 && e->path)
		ret->path = path_take(e->path);
	if (r == 0 && e->stability)
		r = stability_finish(e->stability, e->numbers, &ret->stability);
	return r;
}

int pass_run(const struct pass *pass, struct replay_report *ret, struct fmt_error *err)
{
	scoped(emulation_done) struct emulation e = {.pass = pass, .trace = pass->trace};
	struct replay_counts counts = {0};
	int r = emulation_init(&e, err);
	struct replay_source source = {
		.names = fmt_trace_names(e.trace),
		.n_ranks = e.n_ranks,
		.numbers = e.numbers,
		.change = e.change,
		.overlap = pass->structure.overlap,
		.copies = e.copies,
		.path = e.path,
		.path_runs = 1 + pass->n_specs,
		.wants_thread = r == 0 && wants_thread(&e),
		.context = &e,
		.next = next_slice,
		.dropped = drop_slice,
		.taken = take_times,
	};

	if (r == 0)
		r = replay_simulate(&source, &counts, err);
	if (r == 0 && e.rewrite)
		r = rewrite_end(take(e.rewrite), err);
	if (r < 0)
		return r;
	*ret = (struct replay_report){
		.names = fmt_trace_names(e.trace),
		.ops = counts.program.ops,
		.unexplained = recorded_unexplained(&e) + counts.program.rootless,
		.broken = counts.sim.broken,
		.too_far = counts.sim.too_far,
		.repeated = counts.program.repeated,
		.within = recorded_within(&e),
		.what_ifs = pass->specs,
		.n_what_ifs = pass->n_specs,
		.unmatched = counts.program.unmatched,
		.unmatched_ns = counts.program.unmatched_ns,
		.alone_ns = counts.program.alone_ns,
		.blocking_ns = counts.program.blocking_ns,
		.no_latency = counts.program.no_latency,
		.no_latency_ns = counts.program.no_latency_ns,
		.no_model = counts.program.no_model,
		.no_model_ns = counts.program.no_model_ns,
	};
	if (e.copies)
		ret->copies = (struct replay_copies){
			.n = e.copies->n,
			.per_copy = e.copies->per_copy,
			.data = e.copies->data,
			.within_bytes_per_s = e.copies->links.model.bytes_per_s,
			.between_bytes_per_s = e.copies->links.model.network_bytes_per_s,
		};
	r = finish_report(&e, ret);
	if (r == 0)
		r = check_network(&e, ret, err);
	if (r < 0)
		replay_report_done(ret);
	return r;
}
