/* SPDX-License-Identifier: Apache-2.0 */

/* Operations whose launch was not recorded, most often because it preceded the recording. Each
 * follows its stream, or an operation that ended elsewhere as it started. All others start at their
 * recorded time relative to the start of the recording (rule "window"). In a process with several
 * GPUs, so do operations with an unexplained start, since they may have waited for another GPU
 * (rule "other-gpu"). */
#include "formats/run/infer/walk.h"

#define FOLLOWS_NS (25 * INFER_US)

/* The operation starts at its recorded time, relative to the start of the recording. */
static int add_wait(struct infer_view *v, const struct infer_op *o, enum infer_rule rule)
{
	return infer_add_edge(v,
			      &(struct infer_edge){.from = o->event,
						   .to = o->event,
						   .from_op = INFER_NONE,
						   .to_op = INFER_NONE,
						   .lag_ns = o->start_ns - v->constants.anchor_ns,
						   .kind = FMT_EDGE_SPAWN,
						   .rule = (uint8_t)rule});
}

static int explain_unlaunched(struct infer_walk *w, uint32_t op)
{
	struct infer_view *v = w->view;
	struct infer_op *o = &v->ops[op];
	int64_t base = INT64_MIN / 2, was;
	int r;

	o->explained = 1;
	if (infer_prev_op(v, o) != INFER_NONE) {
		base = v->ops[infer_prev_op(v, o)].end_ns + infer_gap_ns(v, o);
		if (o->start_ns <= v->ops[infer_prev_op(v, o)].end_ns + FOLLOWS_NS)
			return 0;
	}
	was = base;
	r = infer_explain_delay(w, op, NULL, &base);
	if (r < 0 || base != was)
		return r;
	return add_wait(v, o, INFER_WINDOW);
}

int infer_add_window_waits(struct infer_walk *w)
{
	const struct infer_view *v = w->view;
	int r = 0;

	for (uint32_t i = 0; i < v->n_ops && r == 0; i++)
		if (v->ops[i].call == INFER_NONE)
			r = explain_unlaunched(w, i);
	return r;
}

int infer_add_other_gpu_waits(struct infer_view *v)
{
	int r = 0;

	for (uint32_t i = 0; i < v->n_ops && r == 0; i++) {
		struct infer_op *o = &v->ops[i];

		if (o->explained)
			continue;
		o->explained = 1;
		r = add_wait(v, o, INFER_OTHER_GPU);
	}
	return r;
}
