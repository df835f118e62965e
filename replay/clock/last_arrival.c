/* SPDX-License-Identifier: Apache-2.0 */

/* The last rank of each collective is recorded while the clock runs, because collectives are freed
 * when all ranks have left. */
#include "replay/clock/last_arrival.h"

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
	l->block->program->waits[l->at->wait].operand = (uint32_t)c->n++;
}

uint64_t sim_last_arrival(const struct sim *s, uint32_t number, uint32_t run)
{
	return s->causes->last[(size_t)number * s->causes->n_runs + run];
}
