/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/busy.h"

#include "base/scope.h"
#include "formats/render/time.h"

/* Without branches, since they would be unpredictable. */
static inline void cover_span(struct fmt_busy_cover *c, int64_t start_ns, int64_t end_ns)
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
static void merge_runs(struct fmt_busy_op *op, size_t a, size_t b, size_t end,
		       struct fmt_busy_op *spare)
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
static int sort_runs(struct fmt_busy_ops *ops)
{
	scoped(free_ptr) struct fmt_busy_op *spare = NULL;
	size_t b, end;

	while ((b = run_end(ops->op, ops->sorted, ops->n)) < ops->n) {
		if (!spare && !(spare = malloc(ops->n * sizeof(*spare))))
			return -ENOMEM;
		ops->sorted = 0;
		for (size_t a = 0; b < ops->n; a = end) {
			end = run_end(ops->op, b, ops->n);
			merge_runs(ops->op, a, b, end, spare);
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
	struct fmt_busy_cover any, of[2]; /* [1]: of collectives */
	int64_t start_ns = span->start_ns, end_ns = span->end_ns;

	if (!span->any) {
		*ret = (struct fmt_busy){0};
		return 0;
	}
	if (sort_runs(ops) < 0)
		return -ENOMEM;
	any = of[0] = of[1] = (struct fmt_busy_cover){0, start_ns};
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

/* ---- all iterations of a GPU ----
 *
 * A sweep over all operations in order of start measures their unions. A row gets the difference of
 * the unions at its end and at its start. */

/* Sweeps to `ns`, no earlier than before, and measures the unions up to there. Operations [*at ..)
 * are left. */
static struct fmt_busy_unions sweep_to(struct fmt_busy_run *run, int64_t ns, size_t *at)
{
	const struct fmt_busy_op *op = run->ops.op;
	struct fmt_busy_cover all[3]; /* of collectives [1], of the others [0], of all */
	int64_t length_ns[3];

	memcpy(all, run->covers, sizeof(all));
	for (; *at < run->ops.n && op[*at].start_ns < ns; ++*at) {
		cover_span(&all[op[*at].collective], op[*at].start_ns, op[*at].end_ns);
		cover_span(&all[2], op[*at].start_ns, op[*at].end_ns);
	}
	memcpy(run->covers, all, sizeof(all));
	/* Only the last interval of a union can reach beyond `ns`. */
	for (int i = 0; i < 3; i++)
		length_ns[i] = all[i].length_ns - (all[i].end_ns > ns ? all[i].end_ns - ns : 0);
	return (struct fmt_busy_unions){length_ns[0], length_ns[1], length_ns[2]};
}

static void divide_span(struct fmt_busy *row, const struct fmt_busy_unions *a,
			const struct fmt_busy_unions *b)
{
	row->device_ns = row->end_ns - row->start_ns;
	row->compute_ns = b->compute_ns - a->compute_ns;
	row->idle_ns = row->device_ns - (b->any_ns - a->any_ns);
	row->exposed_ns = (b->any_ns - a->any_ns) - row->compute_ns;
	row->hidden_ns = (b->collective_ns - a->collective_ns) - row->exposed_ns;
}

/* The last row is complete: notes its span. */
static int close_row(struct fmt_busy_run *run)
{
	struct fmt_busy_span own = fmt_busy_span(&run->ops, run->own);
	struct fmt_busy *row = run->n_rows ? &run->rows[run->n_rows - 1] : NULL;

	run->own = run->ops.n;
	if (!row || !own.any)
		return 0;
	if (array_reserve(&run->pending, run->n_pending + 1, &run->pending_cap) < 0)
		return -ENOMEM;
	run->pending[run->n_pending++] = (struct fmt_busy_pending){.row = run->n_rows - 1};
	row->start_ns = own.start_ns;
	row->end_ns = own.end_ns;
	if (!run->any)
		run->whole = (struct fmt_busy){.start_ns = own.start_ns, .end_ns = own.end_ns};
	run->any = 1;
	if (own.end_ns > run->whole.end_ns)
		run->whole.end_ns = own.end_ns;
	return 0;
}

/* Returns the next start or end of a pending row, at most `cut_ns`. */
static int64_t next_ns(const struct fmt_busy_run *run, int64_t cut_ns)
{
	for (size_t i = 0; i < run->n_pending; i++) {
		const struct fmt_busy *row = &run->rows[run->pending[i].row];
		int64_t ns = run->pending[i].begun ? row->end_ns : row->start_ns;

		cut_ns = ns < cut_ns ? ns : cut_ns;
	}
	return cut_ns;
}

/* The sweep is at `ns`: begins and ends pending rows. */
static void advance_rows(struct fmt_busy_run *run, int64_t ns, const struct fmt_busy_unions *now)
{
	size_t kept = 0;

	if (!run->begun && run->any && run->whole.start_ns <= ns) {
		run->begun = 1;
		run->before = *now;
	}
	for (size_t i = 0; i < run->n_pending; i++) {
		struct fmt_busy_pending p = run->pending[i];
		struct fmt_busy *row = &run->rows[p.row];

		if (!p.begun && row->start_ns <= ns) {
			p.begun = 1;
			p.before = *now;
		}
		if (p.begun && row->end_ns <= ns)
			divide_span(row, &p.before, now);
		else
			run->pending[kept++] = p;
	}
	run->n_pending = kept;
}

/* No further operation starts before `cut_ns`: divides the rows that end before it. */
static int finish_until(struct fmt_busy_run *run, int64_t cut_ns)
{
	struct fmt_busy_ops *ops = &run->ops;
	size_t at = 0;

	if (close_row(run) < 0 || sort_runs(ops) < 0)
		return -ENOMEM;
	while (run->swept_ns < cut_ns) {
		int64_t ns = next_ns(run, cut_ns);

		run->swept_ns = ns > run->swept_ns ? ns : run->swept_ns;
		run->now = sweep_to(run, run->swept_ns, &at);
		advance_rows(run, run->swept_ns, &run->now);
	}
	ops->n -= at;
	if (at > 0)
		memmove(ops->op, ops->op + at, ops->n * sizeof(*ops->op));
	ops->sorted = ops->n > 0 ? ops->n - 1 : 0;
	run->own = ops->n;
	return 0;
}

int fmt_busy_run_begin(struct fmt_busy_run *run, int64_t from_ns)
{
	/* Finishes rows with a delay of one row, because emulated operations may start shortly
	 * before their iteration. */
	if ((run->n_rows > 0 && finish_until(run, run->from_ns) < 0) ||
	    array_reserve(&run->rows, run->n_rows + 1, &run->rows_cap) < 0)
		return -ENOMEM;
	if (run->n_rows == 0) {
		for (int i = 0; i < 3; i++)
			run->covers[i].end_ns = INT64_MIN;
		run->swept_ns = INT64_MIN;
	}
	if (run->n_rows == 0 || from_ns > run->from_ns)
		run->from_ns = from_ns;
	run->rows[run->n_rows++] = (struct fmt_busy){0};
	return 0;
}

int fmt_busy_run_end(struct fmt_busy_run *run)
{
	if (finish_until(run, INT64_MAX) < 0)
		return -ENOMEM;
	divide_span(&run->whole, &run->before, &run->now);
	return 0;
}

void fmt_busy_run_done(struct fmt_busy_run *run)
{
	fmt_busy_ops_done(&run->ops);
	free(run->pending);
	free(run->rows);
	*run = (struct fmt_busy_run){0};
}
