/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/program/compile.h"

#include "formats/run/peers.h"
#include "replay/clock/last_arrival.h"

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
	w.operand = c->to->n_far;
	c->to->far[c->to->n_far++] = SIM_REF(rank, moment);
	compile_wait(c, point, w);
}

/* Reads the communicator and sequence number of a collective operation; returns 0 if it has
 * none. */
static int collective_of(const struct compile *c, const struct fmt_event *e,
			 const struct template *template, uint32_t *comm, int64_t *seq)
{
	const int64_t *values = c->slice->values + e->first_value;
	size_t n = c->slice->n_values -
		   (e->first_value < c->slice->n_values ? e->first_value : c->slice->n_values);

	if (template->comm_at >= n || template->seq_at >= n)
		return 0;
	*seq = values[template->seq_at];
	*comm = (uint32_t)values[template->comm_at];
	if (values[template->comm_at] < 0 ||
	    (uint64_t)values[template->comm_at] >= c->p->n_groups || *seq < 0 || *seq == INT64_MAX)
		return 0;
	return c->rank->groups[*comm] != SIM_NONE;
}

/* A rank's part in a collective. */
struct part {
	const struct fmt_edge *transfer; /* NULL: unknown */
	uint16_t scale;
	struct sim_expected expected; /* of all ranks together */
};

/* The operation's end waits for the end of the collective. */
static void join_all(struct compile *c, struct sim_point *point, uint32_t member, int64_t seq,
		     const struct part *part)
{
	const struct fmt_edge *transfer = part->transfer;
	uint32_t collective;
	int r = sim_declare(sim_collectives(c->p->sim), member, seq, &collective);

	if (r > 0 && c->p->change &&
	    sim_expect_transfer(c->p->sim, collective, &part->expected) < 0)
		r = -ENOMEM;
	if (r < 0)
		c->error = r;
	else if (r == 0)
		c->p->counts.repeated++;
	else
		compile_wait(c, point,
			     (struct sim_wait){.kind = transfer ? SIM_TRANSFER : SIM_COLLECTIVE,
					       .operand = collective,
					       .lag_ns = transfer ? transfer->lag_ns : 0,
					       .scale = part->scale});
}

/* Joins one collective with each peer that is in the trace. */
static void join_pairs(struct compile *c, struct sim_point *point, uint32_t comm, int64_t seq,
		       const struct part *part, const char *peers)
{
	uint32_t number, peer, member;

	while (fmt_peers_next(&peers, &number)) {
		peer = program_peer(c->p, c->index, comm, number);
		if (peer == c->p->n_ranks || peer == c->index)
			continue;
		member = program_pair(c->p, c->index, comm, peer);
		if (member == SIM_NONE)
			c->error = -ENOMEM;
		else
			join_all(c, point, member, seq, part);
	}
}

static void count_event(uint64_t *n, int64_t *ns, const struct fmt_event *e)
{
	++*n;
	*ns += e->duration_ns;
}

/* Adds an operation without other participants. */
static void op_alone(struct compile *c, const struct fmt_event *e, int collective)
{
	struct change *change = c->p->change;

	if (collective) {
		count_event(&c->p->counts.unmatched, &c->p->counts.unmatched_ns, e);
		c->p->counts.alone_ns += e->duration_ns;
	}
	compile_scale(
		c, collective ? change_collective_scale(change, c->index, e->template, SIM_NONE, -1)
			      : change_op_scale(change, c->index, e->template, e->duration_ns));
	if (!collective && change_has_no_model(change, e->template))
		count_event(&c->p->counts.no_model, &c->p->counts.no_model_ns, e);
}

static int64_t bytes_of(const struct compile *c, const struct fmt_event *e,
			const struct template *template)
{
	uint64_t at = (uint64_t)e->first_value + template->bytes_at;

	if (template->bytes_at == UINT32_MAX)
		return template->bytes;
	return at < c->slice->n_values ? c->slice->values[at] : -1;
}

/* Returns 1 if a rank of the communicator may be missing in the trace. If process groups were not
 * recorded, communicators list only ranks of the trace. */
static int may_be_incomplete(const struct compile *c, const struct template *template,
			     uint32_t comm)
{
	return c->p->incomplete[comm] || (c->p->misses_ranks && !template->is_sized);
}

/* Joins the operation that ends at `point` with others on a communicator. An operation without a
 * transfer time was not matched at import, unless it has peers. */
static void op_join_collective(struct compile *c, struct sim_point *point, size_t i,
			       const struct fmt_edge *transfer, uint32_t comm, int64_t seq)
{
	const struct fmt_event *e = &c->slice->events[i];
	const struct template *template = &c->p->templates[e->template];
	struct part part = {.transfer = transfer};
	uint32_t member =
		sim_participant(sim_collectives(c->p->sim), c->index, c->rank->groups[comm]);
	int alone = !transfer && !template->peers && c->p->has_transfers;
	int separable = !alone && !may_be_incomplete(c, template, comm);
	uint32_t scaled = separable ? comm : SIM_NONE;
	int64_t bytes = bytes_of(c, e, template);

	part.scale = change_collective_scale(c->p->change, c->index, e->template, scaled, bytes);
	if (!separable)
		count_event(&c->p->counts.unmatched, &c->p->counts.unmatched_ns, e);
	if (alone)
		c->p->counts.alone_ns += e->duration_ns;
	if (change_has_no_latency(c->p->change, e->template, scaled, bytes))
		count_event(&c->p->counts.no_latency, &c->p->counts.no_latency_ns, e);
	compile_scale(c, part.scale);
	if (template->peers) {
		join_pairs(c, point, comm, seq, &part, template->peers);
	} else if (member != SIM_NONE) {
		if (c->p->change)
			part.expected =
				change_expected_transfer(c->p->change, e->template, scaled, bytes);
		join_all(c, point, member, seq, &part);
	}
}

void compile_ranks(struct compile *c, struct sim_point *point, size_t i,
		   const struct fmt_edge *takes)
{
	const struct fmt_event *e = &c->slice->events[i];
	const struct template *template = &c->p->templates[e->template];
	uint32_t comm;
	int64_t seq;

	if (template->is_numbered && collective_of(c, e, template, &comm, &seq))
		op_join_collective(c, point, i, takes, comm, seq);
	else
		op_alone(c, e, template->kind == FMT_COLLECTIVE);
}
