/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/report/busy.h"

#include "base/array.h"

/* A union of intervals that come in the order of their starts: its length so far, and its end. */
struct cover {
	int64_t length_ns, end_ns;
};

static void cover(struct cover *c, const struct fmt_busy_op *op)
{
	int64_t from = op->start_ns > c->end_ns ? op->start_ns : c->end_ns;

	if (op->end_ns > from) {
		c->length_ns += op->end_ns - from;
		c->end_ns = op->end_ns;
	}
}

/* Far enough from the ends of the scale that no difference of two times overflows. */
#define FARTHEST_NS (INT64_MAX / 4)

static int64_t within(int64_t ns)
{
	return ns > FARTHEST_NS ? FARTHEST_NS : ns < -FARTHEST_NS ? -FARTHEST_NS : ns;
}

int fmt_busy_add(struct fmt_busy_ops *ops, int64_t start_ns, int64_t end_ns, int collective)
{
	if (array_reserve(&ops->op, ops->n + 1, &ops->cap) < 0)
		return -ENOMEM;
	start_ns = within(start_ns);
	end_ns = within(end_ns);
	ops->op[ops->n++] = (struct fmt_busy_op){
		.start_ns = start_ns,
		.end_ns = end_ns < start_ns ? start_ns : end_ns,
		.collective = collective != 0,
	};
	return 0;
}

int fmt_busy_collect(struct fmt_busy_ops *ops, const struct fmt_names *names,
		     const struct fmt_slice *slice)
{
	for (size_t i = 0; i < slice->n_events; i++) {
		const struct fmt_event *e = &slice->events[i];
		const struct fmt_site *site = fmt_site(names, e->site);
		int64_t end_ns;
		int r;

		if (!site || !FMT_IS_OP(site->kind))
			continue;
		if (__builtin_add_overflow(e->start_ns, e->duration_ns, &end_ns))
			end_ns = INT64_MAX;
		r = fmt_busy_add(ops, e->start_ns, end_ns, site->kind == FMT_COLLECTIVE);
		if (r < 0)
			return r;
	}
	return 0;
}

static size_t run_end(const struct fmt_busy_op *op, size_t at, size_t n)
{
	for (at++; at < n && op[at].start_ns >= op[at - 1].start_ns; at++)
		;
	return at;
}

static void merge(const struct fmt_busy_op *a, size_t n_a, const struct fmt_busy_op *b, size_t n_b,
		  struct fmt_busy_op *to)
{
	while (n_a > 0 && n_b > 0) {
		if (b->start_ns < a->start_ns) {
			*to++ = *b++;
			n_b--;
		} else {
			*to++ = *a++;
			n_a--;
		}
	}
	memcpy(to, a, n_a * sizeof(*a));
	memcpy(to + n_a, b, n_b * sizeof(*b));
}

/* Merges neighbouring ascending runs, until one is left. */
static int sort(struct fmt_busy_ops *ops)
{
	while (run_end(ops->op, 0, ops->n) < ops->n) {
		struct fmt_busy_op *swap = ops->op;
		size_t swap_cap = ops->cap;

		if (array_reserve(&ops->spare, ops->n, &ops->spare_cap) < 0)
			return -ENOMEM;
		for (size_t a = 0; a < ops->n;) {
			size_t b = run_end(ops->op, a, ops->n);
			size_t end = b < ops->n ? run_end(ops->op, b, ops->n) : b;

			merge(ops->op + a, b - a, ops->op + b, end - b, ops->spare + a);
			a = end;
		}
		ops->op = ops->spare;
		ops->cap = ops->spare_cap;
		ops->spare = swap;
		ops->spare_cap = swap_cap;
	}
	return 0;
}

int fmt_busy_divide(struct fmt_busy_ops *ops, struct fmt_busy *ret)
{
	struct cover any, compute, comm;
	int64_t start_ns, end_ns;

	if (ops->n == 0) {
		*ret = (struct fmt_busy){0};
		return 0;
	}
	if (sort(ops) < 0)
		return -ENOMEM;
	start_ns = end_ns = ops->op[0].start_ns;
	any = compute = comm = (struct cover){0, start_ns};
	for (size_t i = 0; i < ops->n; i++) {
		cover(&any, &ops->op[i]);
		cover(ops->op[i].collective ? &comm : &compute, &ops->op[i]);
		if (ops->op[i].end_ns > end_ns)
			end_ns = ops->op[i].end_ns;
	}
	ret->start_ns = start_ns;
	ret->end_ns = end_ns;
	ret->device_ns = end_ns - start_ns;
	ret->compute_ns = compute.length_ns;
	ret->hidden_ns = compute.length_ns + comm.length_ns - any.length_ns;
	ret->exposed_ns = comm.length_ns - ret->hidden_ns;
	ret->idle_ns = ret->device_ns - any.length_ns;
	return 0;
}

void fmt_busy_ops_done(struct fmt_busy_ops *ops)
{
	free(ops->op);
	free(ops->spare);
	*ops = (struct fmt_busy_ops){0};
}
