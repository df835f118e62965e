/* SPDX-License-Identifier: Apache-2.0 */

/* queue-full: a device accepts about a thousand launches ahead (1,022 to 1,024 in measurements). A
 * launch beyond that returns when an older operation ends. */
#include "formats/run/infer/walk.h"

#include "base/array.h"
#include "base/scope.h"

#define LONG_NS (30 * INFER_US) /* a launch this long, and four times as long as most, waited */
#define PENDING 256		/* a queue with fewer is not full on any known device */

/* The duration from which a launch is long in this run; INT64_MAX when no launch is. */
static int long_launch(const struct infer_view *v, int64_t *ret_ns)
{
	scoped(free_ptr) int64_t *durations = malloc((v->n_calls + (size_t)1) * sizeof(*durations));
	int64_t longest = 0;
	size_t n = 0;

	if (!durations)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_calls; i++) {
		durations[n] = v->calls[i].end_ns - v->calls[i].start_ns;
		longest = v->calls[i].n_ops > 0 && durations[n] > longest ? durations[n] : longest;
		n += v->calls[i].n_ops > 0;
	}
	*ret_ns = INT64_MAX;
	if (longest <= LONG_NS)
		return 0;
	qsort(durations, n, sizeof(*durations), array_by_i64);
	*ret_ns = durations[n / 2] > LONG_NS / 4 ? durations[n / 2] * 4 : LONG_NS;
	if (longest <= *ret_ns)
		*ret_ns = INT64_MAX;
	return 0;
}

struct ending {
	int64_t end_ns;
	uint32_t op;
};

static int by_end(const void *a, const void *b)
{
	const struct ending *x = a, *y = b;

	return array_order(x->end_ns, y->end_ns) ?: array_order(x->op, y->op);
}

static int try_call(struct infer_view *v, uint32_t call, const struct ending *e, size_t n_ended,
		    uint64_t n_launched)
{
	struct infer_call *c = &v->calls[call];
	int64_t end;

	if (n_ended == 0 || n_launched < n_ended + PENDING)
		return 0;
	end = e[n_ended - 1].end_ns - v->constants.launch_ns;
	if (end < c->end_ns - 20 * INFER_US || end <= c->start_ns + 10 * INFER_US)
		return 0;
	c->waits = 1;
	return infer_add_edge(v, &(struct infer_edge){.from = v->ops[e[n_ended - 1].op].event,
						      .to = c->event,
						      .from_op = e[n_ended - 1].op,
						      .to_op = INFER_NONE,
						      .lag_ns = c->end_ns - e[n_ended - 1].end_ns,
						      .kind = FMT_EDGE_RETURN,
						      .rule = INFER_QUEUE_FULL});
}

int infer_add_queue_waits(struct infer_view *v)
{
	scoped(free_ptr) struct ending *e = NULL;
	uint64_t n_launched = 0;
	size_t n_ended = 0;
	int64_t least;
	int r = long_launch(v, &least);

	if (r < 0 || least == INT64_MAX)
		return r;
	e = malloc((v->n_ops + (size_t)1) * sizeof(*e));
	if (!e)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_ops; i++) {
		e[i] = (struct ending){v->ops[i].end_ns, i};
		n_launched += v->ops[i].call == INFER_NONE;
	}
	qsort(e, v->n_ops, sizeof(*e), by_end);
	for (uint32_t i = 0; i < v->n_calls && r == 0; i++) {
		const struct infer_call *c = &v->calls[v->order[i]];

		if (c->n_ops > 0 && !c->waits && c->end_ns - c->start_ns > least) {
			while (n_ended > 0 &&
			       e[n_ended - 1].end_ns > c->end_ns + v->constants.launch_ns)
				n_ended--;
			while (n_ended < v->n_ops &&
			       e[n_ended].end_ns <= c->end_ns + v->constants.launch_ns)
				n_ended++;
			r = try_call(v, v->order[i], e, n_ended, n_launched);
		}
		n_launched += c->n_ops;
	}
	return r;
}
