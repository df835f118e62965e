/* SPDX-License-Identifier: Apache-2.0 */

/* Posting: an op that other processes wait for is announced to them before it runs, when it is
 * submitted or as soon as its deps are known. Only records and waits may be between two posted ops
 * of a stream; after any other op, the stream must finish that op first. */
#include "replay/emugpu/driver/stream.h"

int emu_post(struct emu_stream *s, struct emu_op *op, const struct emu_op *before, int64_t tail_ns)
{
	const struct cost_gpu *m = &s->track.device->model;
	int r = 0;

	if (op->type->post)
		r = op->type->post(op, before, &s->track, emu_op_ready(op, m, tail_ns),
				   (int64_t)m->gap_ns);
	op->posted = r > 0;
	return r;
}

/* Returns 1 if all points that the op waits for are known. */
static int is_settled(struct emu_op *op)
{
	for (unsigned i = 0; i < op->n_deps; i++) {
		struct emu_dep *d = &op->deps[i];

		if (d->point && !emu_point_reached(d->point))
			return 0;
		op->ready_ns = moment_wait(op->ready_ns, emu_dep_wait(d), 0);
	}
	return 1;
}

static int64_t mark_time(const struct emu_stream *s, const struct emu_op *op, int64_t tail_ns)
{
	if (op->type == &emu_wait_type)
		return moment_wait(tail_ns, op->ready_ns, 0);
	return emu_op_ready(op, &s->track.device->model, tail_ns);
}

void emu_post_queued(struct emu_stream *s)
{
	struct emu_ahead *a = &s->ahead;
	struct emu_op *op;

	for (; (op = a->unseen) && a->posted && is_settled(op); a->unseen = op->next) {
		if (op->type == &emu_wait_type || op->type == &emu_record_type)
			a->since_ns = mark_time(s, op, a->since_ns);
		else if (emu_post(s, op, a->posted, a->since_ns))
			emu_post_after(s, op);
		else
			break;
	}
}

void emu_post_after(struct emu_stream *s, struct emu_op *op)
{
	s->ahead.posted = op;
	s->ahead.since_ns = MOMENT_NEVER;
}
