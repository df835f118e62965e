/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/collectives.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/clocks.h"
#include "formats/trace/wrap.h"

/* Returns the string of that key, if it is constant for the template; else 0. */
static fmt_str text_of(const struct infer_view *v, uint32_t event, const char *key)
{
	const struct fmt_template *s = fmt_template(v->names, v->rank->events[event].template);

	for (uint32_t i = 0; s && i < s->n_args; i++)
		if (s->args[i].type == FMT_STRING && !s->args[i].varies &&
		    strcmp(fmt_string(v->names, s->args[i].key, NULL), key) == 0)
			return (fmt_str)s->args[i].value;
	return 0;
}

/* The process group of a collective, as the operation or a range around its launch names it. */
static struct fmt_run_group group_of(const struct infer_view *v, uint32_t event)
{
	struct fmt_run_group ret = {
		.event = event,
		.name = text_of(v, event, FMT_KEY_GROUP),
		.ranks = text_of(v, event, FMT_KEY_GROUP_RANKS),
		.description = text_of(v, event, FMT_KEY_GROUP_DESCRIPTION),
	};
	const struct fmt_run_rank *rank = v->rank;
	size_t at;

	if (!infer_event_arg(v, event, "Seq", &ret.seq))
		ret.seq = -1;
	if (ret.name)
		return ret;
	at = array_bound(i, 0, rank->n_groups, rank->groups[i].event < event);
	return at < rank->n_groups && rank->groups[at].event == event ? rank->groups[at] : ret;
}

/* Sends, receives and all-to-alls share one kernel; the profiler's arguments distinguish them. */
static enum fmt_ends_kind kind_of(const struct infer_view *v, uint32_t event)
{
	fmt_str op = text_of(v, event, FMT_KEY_OP);

	if (!op || strcmp(fmt_string(v->names, op, NULL), "send_recv") != 0)
		return FMT_ENDS_COLLECTIVE;
	if (!text_of(v, event, FMT_KEY_GROUP) && group_of(v, event).name)
		return FMT_ENDS_MESSAGE; /* the range around the launch names the collective */
	return text_of(v, event, "Collective name") ? FMT_ENDS_MESSAGE : FMT_ENDS_EITHER;
}

/* Finds or adds the row of `op`, among those of the view, which begin at `first`. Collectives of a
 * process group have the same order on all ranks, whatever streams they run on. */
static int find_row(struct fmt_ends *e, const struct infer_view *v, uint32_t first,
		    const struct infer_op *op, uint32_t *ret)
{
	struct fmt_run_group group = group_of(v, op->event);
	struct fmt_ends_row row = {.rank = v->index,
				   .stream = op->stream,
				   .group = group.name,
				   .ranks = group.ranks,
				   .description = group.description};
	bool any_stream = row.group && kind_of(v, op->event) == FMT_ENDS_COLLECTIVE;

	for (uint32_t i = e->n_rows; i > first; i--) {
		const struct fmt_ends_row *at = &e->rows[i - 1];

		if ((any_stream ? at->any_stream : at->stream == row.stream && !at->any_stream) &&
		    at->group == row.group && at->ranks == row.ranks) {
			*ret = i - 1;
			return 0;
		}
	}
	if (array_reserve(&e->rows, e->n_rows + (size_t)1, &e->rows_cap) < 0)
		return -ENOMEM;
	*ret = e->n_rows;
	row.any_stream = any_stream;
	e->rows[e->n_rows++] = row;
	return 0;
}

/* The number of an operation in its communicator: the recorder's, or PyTorch's number of a
 * collective in its process group. Sends and receives have numbers of their own, which differ
 * between ranks. */
static int64_t sequence_of(const struct infer_view *v, uint32_t event)
{
	struct fmt_run_group group;
	int64_t comm, seq;

	if (infer_event_arg(v, event, FMT_KEY_COMM, &comm) && comm >= 0 &&
	    infer_event_arg(v, event, FMT_KEY_SEQ, &seq))
		return seq;
	group = group_of(v, event);
	return group.name && kind_of(v, event) == FMT_ENDS_COLLECTIVE ? group.seq : -1;
}

static struct fmt_ends_op describe_op(const struct infer_view *v, uint32_t index)
{
	const struct infer_op *op = &v->ops[index];

	return (struct fmt_ends_op){
		.start_ns = op->start_ns,
		.end_ns = op->end_ns,
		.seq = sequence_of(v, op->event),
		.name = fmt_template(v->names, v->rank->events[op->event].template)->name,
		.kind = (uint8_t)kind_of(v, op->event),
		.op = index};
}

static int by_start(const void *a, const void *b)
{
	const struct fmt_ends_op *x = a, *y = b;

	return array_order(x->start_ns, y->start_ns) ?: array_order(x->op, y->op);
}

static int read_view(struct fmt_ends *e, const struct infer_view *v)
{
	scoped(free_ptr) uint32_t *row = malloc((v->n_ops + (size_t)1) * sizeof(*row));
	uint32_t first = e->n_rows;

	if (!row)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_ops; i++) {
		row[i] = INFER_NONE;
		if (v->ops[i].kind != FMT_COLLECTIVE)
			continue;
		if (find_row(e, v, first, &v->ops[i], &row[i]) < 0)
			return -ENOMEM;
		e->rows[row[i]].n++;
	}
	for (uint32_t i = first; i < e->n_rows; i++) {
		e->rows[i].first = (uint32_t)e->n_ops;
		e->n_ops += e->rows[i].n;
		e->rows[i].n = 0;
	}
	if (array_reserve(&e->ops, e->n_ops + 1, &e->ops_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_ops; i++)
		if (row[i] != INFER_NONE) {
			struct fmt_ends_row *at = &e->rows[row[i]];

			e->ops[at->first + at->n++] = describe_op(v, i);
		}
	for (uint32_t i = first; i < e->n_rows; i++)
		qsort(&e->ops[e->rows[i].first], e->rows[i].n, sizeof(*e->ops), by_start);
	return 0;
}

int infer_match_init(struct fmt_ends *e, const struct infer_view *views, uint32_t n_views)
{
	int r = 0;

	*e = (struct fmt_ends){.names = n_views > 0 ? views[0].names : NULL, .n_ranks = n_views};
	for (uint32_t i = 0; i < n_views && r == 0; i++)
		r = read_view(e, &views[i]);
	return r;
}

/* On one clock, iterations of ranks start closer than this. */
#define APART_NS (500 * 1000 * INFER_US)

/* ---- clocks ------------------------------------------------------------------------------ */

/* Finds the median difference of the starts of common iterations; returns 0 if there are none. */
static int offset_of_iterations(const struct fmt_run_rank *a, const struct fmt_run_rank *b,
				int64_t *ret)
{
	scoped(free_ptr) int64_t *d = malloc((a->n_iterations + 1) * sizeof(*d));
	size_t n = 0, k = 0;

	if (!d)
		return -ENOMEM;
	*ret = 0;
	for (size_t i = 0; i < a->n_iterations; i++) {
		while (k < b->n_iterations && b->iterations[k].number < a->iterations[i].number)
			k++;
		if (k < b->n_iterations && b->iterations[k].number == a->iterations[i].number)
			d[n++] = b->iterations[k].start_ns / 4 - a->iterations[i].start_ns / 4;
	}
	if (n > 0) {
		qsort(d, n, sizeof(*d), array_by_i64);
		*ret = d[n / 2] > INT64_MAX / 16    ? INT64_MAX / 4
		       : d[n / 2] < -INT64_MAX / 16 ? -INT64_MAX / 4
						    : d[n / 2] * 4;
	}
	return 0;
}

int infer_match_align(struct fmt_ends *e, const struct infer_view *views, struct fmt_clock *clocks)
{
	int r = 0;

	for (uint32_t i = 0; i < e->n_ranks && r == 0; i++) {
		int64_t apart_ns;

		r = offset_of_iterations(views[0].rank, views[i].rank, &apart_ns);
		clocks[i].ahead_ns = views[i].constants.launch_ns;
		if (r == 0 && (apart_ns > APART_NS || apart_ns < -APART_NS))
			clocks[i].ahead_ns = fmt_add(clocks[i].ahead_ns, apart_ns);
	}
	if (r == 0)
		r = fmt_sequences_align_clocks(e, clocks);
	for (uint32_t i = 0; i < e->n_rows && r == 0; i++)
		for (uint32_t k = 0; k < e->rows[i].n; k++) {
			const struct fmt_clock *c = &clocks[e->rows[i].rank];
			struct fmt_ends_op *op = &e->ops[e->rows[i].first + k];

			op->start_ns = fmt_clock_ns(c, op->start_ns);
			op->end_ns = fmt_clock_ns(c, op->end_ns);
		}
	return r;
}

int infer_measure_clocks(const struct fmt_participation *p, size_t n, struct infer_view *views,
			 uint32_t n_views, struct fmt_clock *clocks)
{
	scoped(free_ptr) struct fmt_participation *sorted = fmt_participations_sort(p, n);
	scoped(free_ptr) struct fmt_clock_sample *ends = malloc((n + 1) * sizeof(*ends));
	int64_t first_ns = clocks->ahead_ns;
	size_t n_ends = 0;
	int r;

	if (!sorted || !ends)
		return -ENOMEM;
	/* A collective's end is a common event of its first rank and of the ranks that this one
	 * waits for. */
	for (size_t i = 0, first = 0, end = 0; i < n; i++) {
		if (i == end) {
			first = i;
			end = fmt_participations_end(sorted, first, n);
		}
		if (infer_waits_for(views, &sorted[first], &sorted[i]))
			ends[n_ends++] = (struct fmt_clock_sample){
				first, views[sorted[i].rank].ops[sorted[i].op].end_ns,
				sorted[i].rank};
	}
	for (uint32_t i = 0; i < n_views; i++)
		clocks[i].ahead_ns = fmt_sub(clocks[i].ahead_ns, first_ns);
	r = fmt_clocks_align(ends, n_ends, true, clocks, n_views);
	for (uint32_t i = 0; i < n_views && r == 0; i++) {
		struct fmt_constants *c = &views[i].constants;

		views[i].clock = clocks[i];
		c->clock_ns = fmt_sub(c->anchor_ns, fmt_clock_ns(&clocks[i], c->anchor_ns));
	}
	return r;
}
