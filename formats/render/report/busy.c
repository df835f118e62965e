/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/busy.h"

#include "base/scope.h"
#include "formats/render/time.h"

/* A union of intervals that are added in order of start: its length and end so far. */
struct cover {
	int64_t length_ns, end_ns;
};

/* Without branches, since they would be unpredictable. */
static inline void cover_span(struct cover *c, int64_t start_ns, int64_t end_ns)
{
	int64_t from_ns = start_ns > c->end_ns ? start_ns : c->end_ns;
	int64_t to_ns = end_ns > from_ns ? end_ns : from_ns;

	c->length_ns += to_ns - from_ns;
	c->end_ns = end_ns > c->end_ns ? end_ns : c->end_ns;
}

int fmt_busy_collect(struct fmt_busy_ops *ops, const struct fmt_names *names,
		     const struct fmt_slice *slice, const struct fmt_busy_span *within)
{
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_template *template = fmt_template(names, e->template);
		int64_t end_ns = fmt_end_ns(e);
		int r;

		if (!template || !FMT_IS_OP(template->kind))
			continue;
		if (within && (e->start_ns >= within->end_ns || end_ns <= within->start_ns))
			continue;
		r = fmt_busy_add(ops, e->start_ns, end_ns, template->kind == FMT_COLLECTIVE);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns the end of the ascending run that contains operation `at`. */
static size_t run_end(const struct fmt_busy_op *op, size_t at, size_t n)
{
	for (at++; at < n && op[at].start_ns >= op[at - 1].start_ns; at++)
		;
	return at;
}

/* Merges the ascending runs [a, b) and [b, end). `spare` has space for the first one. */
static void merge(struct fmt_busy_op *op, size_t a, size_t b, size_t end, struct fmt_busy_op *spare)
{
	size_t to = array_bound(i, a, b, op[i].start_ns <= op[b].start_ns), n = b - to;

	memcpy(spare, op + to, n * sizeof(*op));
	for (size_t i = 0; i < n;) {
		int second = b < end && op[b].start_ns < spare[i].start_ns;

		op[to++] = second ? op[b] : spare[i];
		b += (size_t)second;
		i += (size_t)!second;
	}
}

/* Merges neighbouring ascending runs, until one is left. */
static int sort(struct fmt_busy_ops *ops)
{
	scoped(free_ptr) struct fmt_busy_op *spare = NULL;
	size_t b, end;

	while ((b = run_end(ops->op, ops->sorted, ops->n)) < ops->n) {
		if (!spare && !(spare = malloc(ops->n * sizeof(*spare))))
			return -ENOMEM;
		ops->sorted = 0;
		for (size_t a = 0; b < ops->n; a = end) {
			end = run_end(ops->op, b, ops->n);
			merge(ops->op, a, b, end, spare);
			ops->sorted = a == 0 ? end - 1 : ops->sorted;
			b = end < ops->n ? run_end(ops->op, end, ops->n) : end;
		}
	}
	ops->sorted = ops->n > 0 ? ops->n - 1 : 0;
	return 0;
}

struct fmt_busy_span fmt_busy_span(const struct fmt_busy_ops *ops, size_t first)
{
	struct fmt_busy_span span = {.any = first < ops->n};

	for (size_t i = first; i < ops->n; i++) {
		const struct fmt_busy_op *op = &ops->op[i];

		if (i == first || op->start_ns < span.start_ns)
			span.start_ns = op->start_ns;
		if (i == first || op->end_ns > span.end_ns)
			span.end_ns = op->end_ns;
	}
	return span;
}

int fmt_busy_divide(struct fmt_busy_ops *ops, const struct fmt_busy_span *span,
		    struct fmt_busy *ret)
{
	struct cover any, of[2]; /* [1]: of collectives */
	int64_t start_ns = span->start_ns, end_ns = span->end_ns;

	if (!span->any) {
		*ret = (struct fmt_busy){0};
		return 0;
	}
	if (sort(ops) < 0)
		return -ENOMEM;
	any = of[0] = of[1] = (struct cover){0, start_ns};
	for (size_t i = 0; i < ops->n && ops->op[i].start_ns < end_ns; i++) {
		const struct fmt_busy_op *op = &ops->op[i];
		int64_t upto_ns = op->end_ns < end_ns ? op->end_ns : end_ns;

		cover_span(&any, op->start_ns, upto_ns);
		cover_span(&of[op->collective], op->start_ns, upto_ns);
	}
	ret->start_ns = start_ns;
	ret->end_ns = end_ns;
	ret->device_ns = end_ns - start_ns;
	ret->compute_ns = of[0].length_ns;
	ret->hidden_ns = of[0].length_ns + of[1].length_ns - any.length_ns;
	ret->exposed_ns = of[1].length_ns - ret->hidden_ns;
	ret->idle_ns = ret->device_ns - any.length_ns;
	return 0;
}

void fmt_busy_ops_done(struct fmt_busy_ops *ops)
{
	free(ops->op);
	*ops = (struct fmt_busy_ops){0};
}

/* ---- all iterations of a GPU */

#define PENDING (-1) /* idle_ns of a row that is not final */

/* The last row is complete: notes its span. */
static void close_row(struct fmt_busy_run *run)
{
	struct fmt_busy_span own = fmt_busy_span(&run->ops, run->own), *all = &run->span;
	struct fmt_busy *row = run->n_rows ? &run->rows[run->n_rows - 1] : NULL;

	if (!row || !own.any)
		return;
	row->start_ns = own.start_ns;
	row->end_ns = own.end_ns;
	row->idle_ns = PENDING;
	if (!all->any) {
		*all = own;
		run->upto_ns = own.start_ns;
	}
	if (own.end_ns > all->end_ns)
		all->end_ns = own.end_ns;
}

/* Adds the part of the whole up to `cut_ns`. */
static int extend_whole(struct fmt_busy_run *run, int64_t cut_ns)
{
	struct fmt_busy_span next = {run->upto_ns, cut_ns, run->span.any};
	struct fmt_busy part, *whole = &run->whole;

	if (next.end_ns > run->span.end_ns)
		next.end_ns = run->span.end_ns;
	if (!next.any || next.end_ns <= next.start_ns)
		return 0;
	if (fmt_busy_divide(&run->ops, &next, &part) < 0)
		return -ENOMEM;
	if (whole->device_ns == 0)
		whole->start_ns = part.start_ns;
	whole->end_ns = part.end_ns;
	whole->device_ns += part.device_ns;
	whole->compute_ns += part.compute_ns;
	whole->exposed_ns += part.exposed_ns;
	whole->hidden_ns += part.hidden_ns;
	whole->idle_ns += part.idle_ns;
	run->upto_ns = part.end_ns;
	return 0;
}

/* Drops operations that end before the cut and before any pending row. */
static void drop_ops(struct fmt_busy_run *run, int64_t cut_ns)
{
	size_t kept = 0, all_sorted = run->ops.sorted + 1 >= run->ops.n;

	for (size_t i = run->first_pending; i < run->n_rows; i++)
		if (run->rows[i].idle_ns == PENDING && run->rows[i].start_ns < cut_ns)
			cut_ns = run->rows[i].start_ns;
	for (size_t i = 0; i < run->ops.n; i++)
		if (run->ops.op[i].end_ns > cut_ns)
			run->ops.op[kept++] = run->ops.op[i];
	run->ops.n = kept;
	run->ops.sorted = all_sorted && kept > 0 ? kept - 1 : 0;
}

/* No further operation starts before `cut_ns`: divides the rows that end before it. */
static int finish_until(struct fmt_busy_run *run, int64_t cut_ns)
{
	close_row(run);
	for (size_t i = run->first_pending; i < run->n_rows; i++) {
		struct fmt_busy *row = &run->rows[i];
		struct fmt_busy_span span = {row->start_ns, row->end_ns, 1};

		if (row->idle_ns == PENDING && row->end_ns <= cut_ns &&
		    fmt_busy_divide(&run->ops, &span, row) < 0)
			return -ENOMEM;
		if (row->idle_ns != PENDING && i == run->first_pending)
			run->first_pending++;
	}
	if (extend_whole(run, cut_ns) < 0)
		return -ENOMEM;
	drop_ops(run, cut_ns);
	return 0;
}

int fmt_busy_run_begin(struct fmt_busy_run *run, int64_t from_ns)
{
	/* Finishes rows with a delay of one row, because emulated operations may start shortly
	 * before their iteration. */
	if ((run->n_rows > 0 && finish_until(run, run->from_ns) < 0) ||
	    array_reserve(&run->rows, run->n_rows + 1, &run->rows_cap) < 0)
		return -ENOMEM;
	if (run->n_rows == 0 || from_ns > run->from_ns)
		run->from_ns = from_ns;
	run->rows[run->n_rows++] = (struct fmt_busy){0};
	run->own = run->ops.n;
	return 0;
}

int fmt_busy_run_end(struct fmt_busy_run *run)
{
	return finish_until(run, INT64_MAX);
}

void fmt_busy_run_done(struct fmt_busy_run *run)
{
	fmt_busy_ops_done(&run->ops);
	free(run->rows);
	*run = (struct fmt_busy_run){0};
}
