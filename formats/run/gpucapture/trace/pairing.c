/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/pairing.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/run/peers.h"

void rec_pairing_done(struct rec_pairing *m)
{
	for (size_t i = 0; m->participants && i < m->n; i++)
		free(m->participants[i].ops);
	for (size_t i = 0; m->pairs && i < m->n_processes; i++)
		free(m->pairs[i]);
	free(m->participants);
	free(m->n_collectives);
	free(m->pairs);
	*m = (struct rec_pairing){0};
}

/* Returns the participant for a process in a communicator. */
static struct fmt_participant participant_of(const struct rec_process *p, const struct rec_comm *c,
					     const struct rec_ranks *ranks)
{
	uint32_t rank = rec_rank_of_device(ranks, p, c->device);

	return (struct fmt_participant){
		.member = {c->id, c->parent, c->key, c->rank, c->n, c->device, 0, FMT_NO_COMM},
		.rank = rank,
		.number = rank == REC_NONE ? 0 : ranks->ranks[rank].number,
		.owner = p->index};
}

/* Adds a participant with its collectives for each communicator of the process, from m->n. */
static int list_process(struct rec_pairing *m, const struct rec_process *p,
			const struct rec_ranks *ranks)
{
	struct fmt_participant *participants = m->participants + m->n; /* of the process */

	for (uint32_t k = 0; k < p->nccl.n_comms; k++, m->n++)
		participants[k] = participant_of(p, &p->nccl.comms[k], ranks);
	for (uint32_t i = 0; i < p->nccl.n_collectives; i++) {
		const struct rec_collective *c = &p->nccl.collectives[i];
		struct fmt_participant *participant = &participants[c->comm];

		if (c->comm >= p->nccl.n_comms)
			continue;
		if (array_reserve(&participant->ops, participant->n_ops + 1,
				  &participant->ops_cap) < 0)
			return -ENOMEM;
		participant->ops[participant->n_ops++] =
			(struct fmt_collective_op){.messages = p->nccl.messages + c->first_message,
						   .n_messages = c->n_messages,
						   .is_message = c->is_message,
						   .from = c->number};
	}
	return 0;
}

static int list_participants(struct rec_pairing *m, struct rec_process *const *processes, size_t n,
			     const struct rec_ranks *ranks)
{
	size_t n_comms = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		n_comms += processes[i]->nccl.n_comms;
	m->participants = calloc(n_comms + 1, sizeof(*m->participants));
	m->pairs = calloc(n + 1, sizeof(*m->pairs));
	m->n_collectives = calloc(n + 1, sizeof(*m->n_collectives));
	if (!m->participants || !m->pairs || !m->n_collectives)
		return -ENOMEM;
	m->n_processes = n;
	for (size_t i = 0; i < n && r == 0; i++) {
		size_t count = processes[i]->nccl.made;

		m->n_collectives[i] = (uint32_t)count;
		m->pairs[i] = malloc((count + 1) * sizeof(**m->pairs));
		for (size_t k = 0; m->pairs[i] && k < count; k++)
			m->pairs[i][k] = (struct rec_pair){FMT_NO_COMM, -1, 0};
		r = m->pairs[i] ? list_process(m, processes[i], ranks) : -ENOMEM;
	}
	return r;
}

int rec_pairing_find(struct rec_process *const *processes, size_t n, const struct rec_ranks *ranks,
		     struct fmt_names *names, struct rec_pairing *ret)
{
	scoped(rec_pairing_done) struct rec_pairing m = {0};
	int r = list_participants(&m, processes, n, ranks);

	if (r == 0)
		r = fmt_collectives_match_by_order(m.participants, m.n, names);
	for (size_t i = 0; i < m.n && r == 0; i++) {
		const struct fmt_participant *p = &m.participants[i];

		for (size_t k = 0; k < p->n_ops; k++)
			m.pairs[p->owner][p->ops[k].from] =
				(struct rec_pair){p->member.comm, p->ops[k].seq, p->ops[k].peers};
	}
	if (r == 0) {
		*ret = m;
		m = (struct rec_pairing){0};
	}
	return r;
}

/* ---- arguments */

#define MORE_ARGS 10 /* of the kernel */

/* Returns the peers that the collective sends to, or receives from, as a JSON list; 0: none. */
static int peers_of(const struct rec_process *p, const struct rec_collective *c, uint8_t receives,
		    fmt_str *ret)
{
	const struct fmt_message *m = p->nccl.messages + c->first_message;
	scoped(text_done) struct text json = {0};

	*ret = 0;
	for (uint32_t i = 0; i < c->n_messages; i++)
		if (m[i].receives == receives)
			text_printf(&json, "%s%u", json.len > 0 ? ", " : "[", m[i].peer);
	if (json.len == 0)
		return json.error;
	text_char(&json, ']');
	return json.error ? json.error : fmt_names_string(p->names, json.data, json.len, ret);
}

/* Replaces the kernel's template by that of a collective, as every importer writes it. Arguments of
 * the kernel that vary follow those of collectives. */
static int collective_template(const struct rec_process *p, const struct rec_collective *c,
			       const struct fmt_comm *comm, fmt_str peers, uint32_t *template)
{
	struct fmt_names *names = p->names;
	struct fmt_arg args[FMT_COLLECTIVE_ARGS + 5 + MORE_ARGS];
	static const char *const keys[] = {FMT_KEY_COMM,  FMT_KEY_SEQ,	 FMT_KEY_OP, FMT_KEY_DTYPE,
					   FMT_KEY_BYTES, FMT_KEY_GROUP, FMT_KEY_TO, FMT_KEY_FROM,
					   FMT_KEY_PEERS, FMT_KEY_PARTS};
	static const uint8_t types[] = {FMT_INT,    FMT_INT,  FMT_STRING, FMT_STRING, FMT_INT,
					FMT_STRING, FMT_JSON, FMT_JSON,	  FMT_JSON,   FMT_JSON};
	int64_t ranks = c->per_rank && comm ? comm->n_ranks : 1;
	fmt_str to = 0, from = 0, group = comm ? comm->name : 0;
	int r = peers_of(p, c, 0, &to);

	if (r == 0)
		r = peers_of(p, c, 1, &from);

	const int64_t values[] = {0,	 0,  c->op, c->dtype, c->bytes * ranks,
				  group, to, from,  peers,    c->parts};
	const struct fmt_template *kernel = fmt_template(names, *template);
	struct fmt_template made = *kernel;
	uint32_t n = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(keys) && r == 0; i++) {
		if (types[i] == FMT_JSON && values[i] == 0)
			continue;
		args[n] = (struct fmt_arg){
			.type = types[i], .varies = i < FMT_COLLECTIVE_OP, .value = values[i]};
		r = fmt_names_string(names, keys[i], strlen(keys[i]), &args[n++].key);
	}
	for (uint32_t i = 0; i < kernel->n_args && n < ARRAY_SIZE(args); i++)
		args[n++] = kernel->args[i];
	made.kind = FMT_COLLECTIVE;
	made.args = args;
	made.n_args = n;
	return r < 0 ? r : fmt_names_template(names, &made, template);
}

static int apply_pair(struct rec_process *p, const struct rec_collective *c,
		      const struct rec_pair *of, uint64_t *unmatched)
{
	const struct fmt_comm *comm = fmt_comm(p->names, of->comm);
	struct rec_event *e = &p->events[c->event];
	int64_t values[2 + MORE_ARGS] = {comm ? (int64_t)of->comm : -1, of->seq};
	uint32_t n = fmt_template(p->names, e->template)->n_values;
	int r = collective_template(p, c, comm, of->peers, &e->template);

	n = n < MORE_ARGS ? n : MORE_ARGS;
	if (n > 0)
		memcpy(values + 2, p->values + e->first_value, n * sizeof(*values));
	*unmatched += !comm;
	return r < 0 ? r : rec_add_values(p, values, 2 + n, &e->first_value);
}

int rec_pairing_apply(const struct rec_pairing *m, struct rec_process *p, uint32_t end,
		      uint64_t *unmatched)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < p->nccl.n_collectives && r == 0; i++) {
		struct rec_collective c = p->nccl.collectives[i];

		if (c.event < end)
			r = apply_pair(p, &c, &m->pairs[p->index][c.number], unmatched);
		else
			p->nccl.collectives[kept++] = c;
	}
	p->nccl.n_collectives = kept;
	return r;
}
