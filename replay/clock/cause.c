/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the cause of a time after it was computed: of all moments that a point waited for, the one
 * whose end is the time of the point. The last rank of a collective is recorded while the clock
 * runs, because collectives are freed when all ranks have left. */
#include "replay/clock/cause.h"

#include "replay/clock/sim_impl.h"

#include "base/array.h"

struct causes {
	uint32_t n_runs;
	uint64_t *last; /* by collective operation, in the order in which they end; then by run */
	size_t n, n_pushed, cap; /* collective operations */
};

void sim_causes_free(struct causes *c)
{
	if (c)
		free(c->last);
	free(c);
}

int sim_record_causes(struct sim *s, uint32_t n_runs)
{
	s->causes = calloc(1, sizeof(*s->causes));
	if (!s->causes)
		return -ENOMEM;
	s->causes->n_runs = n_runs;
	return 0;
}

int sim_causes_push(struct sim *s, const struct sim_block *b)
{
	struct causes *c = s->causes;

	if (!c)
		return 0;
	for (uint32_t i = 0; i < b->program->n_waits; i++)
		c->n_pushed +=
			b->program->waits[i].last && (b->program->waits[i].kind == SIM_COLLECTIVE ||
						      b->program->waits[i].kind == SIM_TRANSFER);
	return array_reserve(&c->last, c->n_pushed * c->n_runs, &c->cap);
}

void sim_causes_variant(struct sim *s, uint32_t k, uint64_t last)
{
	struct causes *c = s->causes;

	if (k + 1 < c->n_runs)
		c->last[c->n * c->n_runs + k + 1] = last;
}

void sim_causes_leave(struct sim *s, const struct track *l, uint64_t last)
{
	struct causes *c = s->causes;

	c->last[c->n * c->n_runs] = last;
	l->block->program->waits[l->at->wait].on = (uint32_t)c->n++;
}

/* Returns the time of a moment in a run; SIM_NEVER if no longer known. */
static int64_t time_of(const struct sim *s, uint32_t rank, const struct sim_program *p,
		       const struct sim_wait *w, uint32_t run)
{
	uint32_t slot;
	const struct sim_block *b = sim_far_block(s, &s->ranks[rank], p, w, &slot);

	if (!b)
		return SIM_NEVER;
	return run == 0 ? b->times[slot] : b->variants[(run - 1) * (size_t)b->n_slots + slot];
}

const struct sim_wait *sim_find_cause(const struct sim *s, uint32_t rank, const struct sim_block *b,
				      uint32_t at, uint32_t run, uint64_t *ref)
{
	const struct sim_program *p = b->program;
	const struct sim_point *point = &p->points[at];
	const int64_t *times = run == 0 ? b->times : b->variants + (run - 1) * (size_t)b->n_slots;
	int64_t t = times[point->slot];

	for (const struct sim_wait *w = &p->waits[point->wait]; point->wait != SIM_NONE; w++) {
		int64_t lag_ns = run == 0 ? w->lag_ns : sim_variants_lag(s, run - 1, w);
		int64_t when_ns = 0;

		if (w->kind == SIM_COLLECTIVE || w->kind == SIM_TRANSFER) {
			*ref = s->causes->last[(size_t)w->on * s->causes->n_runs + run];
			return w;
		}
		if (w->kind == SIM_FAR || w->kind == SIM_OTHER)
			when_ns = time_of(s, rank, p, w, run);
		else if (w->kind == SIM_MOMENT)
			when_ns = times[w->on];
		*ref = w->kind == SIM_OTHER ? p->far[w->on]
		       : w->kind == SIM_FAR ? SIM_REF(rank, p->far[w->on])
					    : SIM_REF(rank, b->first + w->on);
		if (when_ns > SIM_NEVER && fmt_add(when_ns, lag_ns) == t)
			return w;
		if (w->last)
			break;
	}
	return NULL;
}
