/* SPDX-License-Identifier: Apache-2.0 */

/* Pairs the collectives of all ranks anew: what a part numbered, it numbered without the others.
 * Parts without memberships (importers') leave it to inference. */
#include "formats/run/join/parts.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/peers.h"

/* Whom a template sends to and receives from. */
struct transfers {
	struct fmt_message *messages; /* owned */
	size_t n, cap;
	bool read;
};

struct meeting {
	struct transfers *of_template; /* owned: by joined template */
	uint32_t n_templates;
};

static void meeting_done(struct meeting *m)
{
	for (uint32_t i = 0; m->of_template && i < m->n_templates; i++)
		free(m->of_template[i].messages);
	free(m->of_template);
}

static const char *text_of(const struct fmt_names *n, const struct fmt_template *s, const char *key)
{
	int64_t v;

	return fmt_template_const(n, s, key, &v) && v > 0 && v <= UINT32_MAX
		       ? fmt_string(n, (fmt_str)v, NULL)
		       : "";
}

static int read_peers(struct transfers *t, const char *list, uint8_t receives)
{
	uint32_t peer;

	while (fmt_peers_next(&list, &peer)) {
		if (array_reserve(&t->messages, t->n + 1, &t->cap) < 0)
			return -ENOMEM;
		t->messages[t->n++] = (struct fmt_message){peer, receives};
	}
	return 0;
}

static int read_transfers(struct meeting *m, const struct fmt_names *n, uint32_t template,
			  const struct transfers **ret)
{
	struct transfers *t = &m->of_template[template];
	const struct fmt_template *s = fmt_template(n, template);
	int r = 0;

	if (!t->read) {
		r = read_peers(t, text_of(n, s, FMT_KEY_TO), 0);
		if (r == 0)
			r = read_peers(t, text_of(n, s, FMT_KEY_FROM), 1);
		t->read = r == 0;
	}
	*ret = t;
	return r;
}

static int list_parties(struct join *j)
{
	for (uint32_t i = 0; i < j->run.n_ranks; i++) {
		const struct join_rank *of = &j->ranks[i];

		if (array_reserve(&j->parties, j->n_parties + of->n_members, &j->parties_cap) < 0)
			return -ENOMEM;
		for (size_t k = 0; k < of->n_members; k++)
			j->parties[j->n_parties++] =
				(struct fmt_participant){.member = of->members[k],
							 .rank = i,
							 .number = of->number,
							 .owner = i};
	}
	return 0;
}

/* The party of [first, first + n) that the collective is of: by communicator, and by device where a
 * rank is in one twice. */
static struct fmt_participant *find_party(struct join *j, size_t first, size_t n, int64_t comm,
					  int64_t device)
{
	struct fmt_participant *found = NULL;

	for (size_t i = first; i < first + n; i++)
		if (j->parties[i].member.comm == comm &&
		    (!found || j->parties[i].member.device == device))
			found = &j->parties[i];
	return found;
}

static int take_collective(struct join *j, struct meeting *m, uint32_t rank, uint32_t position,
			   size_t first)
{
	struct fmt_run_rank *run = &j->run.ranks[rank];
	const struct fmt_event *e = &run->events[position];
	int64_t *values = run->values + e->first_value;
	const struct fmt_track *track = fmt_track(j->names, rank, e->track);
	struct fmt_participant *p =
		find_party(j, first, j->ranks[rank].n_members, values[FMT_COLLECTIVE_COMM],
			   track ? track->pid : -1);
	const struct transfers *t;
	const char *op = text_of(j->names, fmt_template(j->names, e->template), FMT_KEY_OP);
	int r = read_transfers(m, j->names, e->template, &t);

	values[FMT_COLLECTIVE_COMM] = -1;
	if (r < 0 || !p)
		return r;
	if (array_reserve(&p->ops, p->n_ops + 1, &p->ops_cap) < 0)
		return -ENOMEM;
	p->ops[p->n_ops++] =
		(struct fmt_collective_op){.messages = t->messages,
					   .n_messages = (uint32_t)t->n,
					   .is_message = t->n > 0 || strcmp(op, "send_recv") == 0,
					   .from = position,
					   .seq = values[FMT_COLLECTIVE_SEQ]};
	return 0;
}

/* As the part numbered them, which is the order of the calls. */
static int by_seq(const void *a, const void *b)
{
	const struct fmt_collective_op *x = a, *y = b;

	return array_order(x->seq, y->seq) ?: array_order(x->from, y->from);
}

static int take_all(struct join *j, struct meeting *m)
{
	size_t first = 0;
	int r = 0;

	for (uint32_t rank = 0; rank < j->run.n_ranks && r == 0; rank++) {
		const struct fmt_run_rank *run = &j->run.ranks[rank];

		for (uint32_t i = 0; i < run->n_events && r == 0; i++)
			if (fmt_template(j->names, run->events[i].template)->kind == FMT_COLLECTIVE)
				r = take_collective(j, m, rank, i, first);
		first += j->ranks[rank].n_members;
	}
	for (size_t i = 0; i < j->n_parties && r == 0; i++)
		if (j->parties[i].n_ops > 0)
			qsort(j->parties[i].ops, j->parties[i].n_ops, sizeof(*j->parties[i].ops),
			      by_seq);
	return r;
}

/* The template with the communicator's name, and with those that the operation waits for. */
static int resite(struct join *j, const char *group, fmt_str peers, uint32_t *template)
{
	struct fmt_names *n = j->names;
	const struct fmt_template *old = fmt_template(n, *template);
	scoped(free_ptr) struct fmt_arg *args = malloc((old->n_args + 1) * sizeof(*args));
	struct fmt_template made = *old;
	fmt_str name, peers_key, group_key;
	int r = fmt_names_string(n, group, strlen(group), &name);

	if (r == 0)
		r = fmt_names_string(n, FMT_KEY_GROUP, strlen(FMT_KEY_GROUP), &group_key);
	if (r == 0)
		r = fmt_names_string(n, FMT_KEY_PEERS, strlen(FMT_KEY_PEERS), &peers_key);
	if (r < 0 || !args)
		return r < 0 ? r : -ENOMEM;
	made.args = args;
	made.n_args = 0;
	for (uint32_t i = 0; i < old->n_args; i++) {
		struct fmt_arg a = old->args[i];

		if (i >= FMT_COLLECTIVE_ARGS && a.key == peers_key)
			continue;
		if (i >= FMT_COLLECTIVE_ARGS && a.key == group_key && !a.varies)
			a.value = name;
		args[made.n_args++] = a;
	}
	if (peers)
		args[made.n_args++] =
			(struct fmt_arg){.key = peers_key, .type = FMT_JSON, .value = peers};
	return fmt_names_template(n, &made, template);
}

static int write_party(struct join *j, const struct fmt_participant *p)
{
	struct fmt_run_rank *run = &j->run.ranks[p->rank];
	const struct fmt_comm *comm = fmt_comm(j->names, p->member.comm);
	int r = 0;

	for (size_t i = 0; i < p->n_ops && r == 0; i++) {
		struct fmt_event *e = &run->events[p->ops[i].from];
		int64_t *values = run->values + e->first_value;

		values[FMT_COLLECTIVE_COMM] = p->member.comm;
		values[FMT_COLLECTIVE_SEQ] = p->ops[i].seq;
		r = resite(j, fmt_string(j->names, comm->name, NULL), p->ops[i].peers,
			   &e->template);
	}
	return r;
}

int join_meet(struct join *j)
{
	scoped(meeting_done) struct meeting m = {.n_templates = fmt_n_templates(j->names)};
	int r = list_parties(j);

	m.of_template = calloc(m.n_templates + (size_t)1, sizeof(*m.of_template));
	if (!m.of_template)
		return -ENOMEM;
	if (r == 0)
		r = take_all(j, &m);
	if (r == 0)
		r = fmt_collectives_by_order(j->parties, j->n_parties, j->names);
	for (size_t i = 0; i < j->n_parties && r == 0; i++)
		r = write_party(j, &j->parties[i]);
	return r < 0 ? r : fmt_participants_put(j->parties, j->n_parties, j->run.n_ranks, j->names);
}
