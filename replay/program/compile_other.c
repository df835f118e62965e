/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/program/compile.h"

#include "replay/clock/cause.h"

void compile_wait_other(struct compile *c, struct sim_point *point, const struct fmt_edge *e,
			uint16_t scale)
{
	struct sim_wait w = {.lag_ns = e->lag_ns, .kind = SIM_OTHER, .scale = scale};
	int64_t rank = (int64_t)c->index + e->rank;
	uint64_t moment = 2 * e->from + (e->kind != FMT_EDGE_SPAWN);

	if (rank < 0 || rank >= c->p->n_ranks || moment != SIM_REF_MOMENT(moment))
		return;
	if (sim_reserve(c->p->sim, c->to, 0, 0, c->to->n_far + 1ul) < 0) {
		c->error = -ENOMEM;
		return;
	}
	w.on = c->to->n_far;
	c->to->far[c->to->n_far++] = SIM_REF(rank, moment);
	compile_wait(c, point, w);
}
