/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/meetings.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"

#include <stdio.h>

/* A rank of a communicator, in the process that has it. */
struct member {
	const struct rec_process *process;
	uint32_t comm;	   /* of the process */
	uint32_t rank;	   /* in the communicator; of a split, once they are sorted */
	uint32_t first, n; /* its items */
	uint32_t at;	   /* how far they are numbered */
};

/* One collective of one member. */
struct item {
	const struct rec_collective *collective;
	uint32_t member;
	uint32_t parent;	      /* of the set of those that meet */
	uint32_t count;		      /* of the root: how many meet */
	uint32_t first_peer, n_peers; /* of the job's pairs */
	uint32_t ready;		      /* of the root: how many of them are next on their rank */
	int in_pairs; /* of the root: one of them does not exchange with all the others */
	int64_t seq;  /* of the root; -1 not numbered yet */
};

/* An item that exchanges with a member other than its own. */
struct pair {
	uint32_t item, member;
};

struct job {
	struct rec_process *const *processes;
	size_t n;
	const struct rec_ranks *ranks;
	struct fmt_names *names;
	struct member *members; /* by communicator, then rank */
	size_t n_members, members_cap;
	struct item *items;
	size_t n_items, items_cap;
	struct pair *pairs; /* of the items: by item, then member */
	size_t n_pairs, pairs_cap;
	struct rec_meeting **ret;
	uint32_t n_comms;
};

static void job_done(struct job *j)
{
	free(j->members);
	free(j->items);
	free(j->pairs);
	if (j->ret)
		rec_meetings_free(j->ret, j->n);
}

void rec_meetings_free(struct rec_meeting **m, size_t n)
{
	for (size_t i = 0; m && i < n; i++)
		free(m[i]);
	free(m);
}

static const struct rec_comm *comm_of(const struct member *m)
{
	return &m->process->comms[m->comm];
}

static int by_comm_and_rank(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	const struct rec_comm *c = comm_of(x), *d = comm_of(y);

	return array_order(c->id, d->id) ?: array_order(c->key, d->key) ?: array_order(c->rank, d->rank) ?: array_order(x->process->index, y->process->index);
}

static int list_members(struct job *j)
{
	for (size_t i = 0; i < j->n; i++)
		for (uint32_t k = 0; k < j->processes[i]->n_comms; k++) {
			if (array_reserve(&j->members, j->n_members + 1, &j->members_cap) < 0)
				return -ENOMEM;
			j->members[j->n_members++] =
				(struct member){.process = j->processes[i], .comm = k};
		}
	if (j->n_members > 0)
		qsort(j->members, j->n_members, sizeof(*j->members), by_comm_and_rank);
	return 0;
}

/* The items of members [first, end), which are all of one communicator. */
static int list_items(struct job *j, size_t first, size_t end)
{
	j->n_items = j->n_pairs = 0;
	for (size_t i = first; i < end; i++) {
		struct member *m = &j->members[i];
		const struct rec_process *p = m->process;

		m->rank = comm_of(m)->parent ? (uint32_t)(i - first) : comm_of(m)->rank;
		m->first = (uint32_t)j->n_items;
		m->n = m->at = 0;
		for (size_t k = 0; k < p->n_collectives; k++) {
			if (p->collectives[k].comm != m->comm)
				continue;
			if (array_reserve(&j->items, j->n_items + 1, &j->items_cap) < 0)
				return -ENOMEM;
			j->items[j->n_items] = (struct item){.collective = &p->collectives[k],
							     .member = (uint32_t)i,
							     .parent = (uint32_t)j->n_items,
							     .seq = -1};
			j->n_items++;
			m->n++;
		}
	}
	return 0;
}

static uint32_t root(struct job *j, uint32_t i)
{
	while (j->items[i].parent != i)
		i = j->items[i].parent = j->items[j->items[i].parent].parent;
	return i;
}

static void join(struct job *j, uint32_t a, uint32_t b)
{
	a = root(j, a);
	b = root(j, b);
	if (a != b)
		j->items[a < b ? b : a].parent = a < b ? a : b;
}

static void join_collectives(struct job *j, size_t first, size_t end)
{
	for (size_t i = first + 1; i < end; i++) {
		const struct member *a = &j->members[first], *b = &j->members[i];
		uint32_t k = 0, l = 0;

		for (;; k++, l++) {
			while (k < a->n && j->items[a->first + k].collective->is_message)
				k++;
			while (l < b->n && j->items[b->first + l].collective->is_message)
				l++;
			if (k >= a->n || l >= b->n)
				break;
			join(j, a->first + k, b->first + l);
		}
	}
}

/* A send or receive, by who talks to whom. */
struct message {
	uint32_t from, to, item;
	uint32_t order;
	uint8_t receives;
};

static int by_pair(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	return array_order(x->from, y->from) ?: array_order(x->to, y->to) ?: array_order(x->receives, y->receives) ?: array_order(x->order, y->order);
}

static int list_messages(const struct job *j, struct message **ret, size_t *n)
{
	size_t cap = 0;

	for (uint32_t i = 0; i < j->n_items; i++) {
		const struct rec_collective *c = j->items[i].collective;
		const struct member *m = &j->members[j->items[i].member];

		for (uint32_t k = 0; k < c->n_messages; k++) {
			const struct rec_message *s = &m->process->messages[c->first_message + k];

			if (array_reserve(ret, *n + 1, &cap) < 0)
				return -ENOMEM;
			(*ret)[*n] = (struct message){.from = s->receives ? s->peer : m->rank,
						      .to = s->receives ? m->rank : s->peer,
						      .item = i,
						      .order = (uint32_t)*n,
						      .receives = s->receives};
			++*n;
		}
	}
	return 0;
}

/* A send and its receive: each waits for the other's rank. */
static int pair(struct job *j, uint32_t a, uint32_t b)
{
	uint32_t x = j->items[a].member, y = j->items[b].member;

	join(j, a, b);
	if (x == y)
		return 0;
	if (array_reserve(&j->pairs, j->n_pairs + 2, &j->pairs_cap) < 0)
		return -ENOMEM;
	j->pairs[j->n_pairs++] = (struct pair){a, y};
	j->pairs[j->n_pairs++] = (struct pair){b, x};
	return 0;
}

static int by_item(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	return x->member < y->member ? -1 : x->member > y->member;
}

/* Lets the items know their peers, each of them once. */
static void sort_pairs(struct job *j)
{
	size_t n = 0;

	if (j->n_pairs > 0)
		qsort(j->pairs, j->n_pairs, sizeof(*j->pairs), by_item);
	for (size_t i = 0; i < j->n_pairs; i++) {
		struct item *item = &j->items[j->pairs[i].item];

		if (n > 0 && by_item(&j->pairs[n - 1], &j->pairs[i]) == 0)
			continue;
		item->first_peer = item->n_peers ? item->first_peer : (uint32_t)n;
		item->n_peers++;
		j->pairs[n++] = j->pairs[i];
	}
	j->n_pairs = n;
}

static int join_messages(struct job *j)
{
	scoped(free_ptr) struct message *list = NULL;
	size_t n = 0, receives;
	int r = list_messages(j, &list, &n);

	if (r < 0 || n == 0)
		return r;
	qsort(list, n, sizeof(*list), by_pair);
	for (size_t from = 0, to; from < n && r == 0; from = to) {
		receives = n;
		for (to = from;
		     to < n && list[to].from == list[from].from && list[to].to == list[from].to;
		     to++)
			if (list[to].receives && receives == n)
				receives = to;
		for (size_t k = 0;
		     r == 0 && receives < n && from + k < receives && receives + k < to; k++)
			r = pair(j, list[from + k].item, list[receives + k].item);
	}
	sort_pairs(j);
	return r;
}

/* The member's next item meets now, if all others of its meeting are next as well. */
static void arrive(struct job *j, struct member *m)
{
	if (m->at < m->n)
		j->items[root(j, m->first + m->at)].ready++;
}

static uint32_t next_meeting(struct job *j, size_t first, size_t end)
{
	uint32_t forced = REC_NONE;

	for (size_t i = first; i < end; i++) {
		const struct member *m = &j->members[i];
		uint32_t at;

		if (m->at >= m->n)
			continue;
		at = root(j, m->first + m->at);
		if (j->items[at].seq < 0 && j->items[at].ready >= j->items[at].count)
			return at;
		forced = forced == REC_NONE ? at : forced;
	}
	return forced;
}

/* Numbers the meetings in an order that each member agrees with; where there is none, as ranks
 * that were cut off leave it, the first member's is taken. */
static void number(struct job *j, size_t first, size_t end)
{
	uint32_t meeting;

	for (uint32_t i = 0; i < j->n_items; i++)
		j->items[root(j, i)].count++;
	for (uint32_t i = 0; i < j->n_items; i++) {
		struct item *all = &j->items[root(j, i)];

		all->in_pairs |= j->items[i].n_peers > 0 && j->items[i].n_peers + 1 < all->count;
	}
	for (size_t i = first; i < end; i++)
		arrive(j, &j->members[i]);
	for (int64_t seq = 0; (meeting = next_meeting(j, first, end)) != REC_NONE; seq++) {
		j->items[meeting].seq = seq;
		for (size_t i = first; i < end; i++) {
			struct member *m = &j->members[i];

			while (m->at < m->n && j->items[root(j, m->first + m->at)].seq >= 0) {
				m->at++;
				arrive(j, m);
			}
		}
	}
}

static int compare_ranks(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return array_order(x, y);
}

static uint32_t number_of(const struct job *j, uint32_t member)
{
	const struct member *m = &j->members[member];
	uint32_t rank = rec_rank_of_device(j->ranks, m->process, comm_of(m)->device);

	return rank == REC_NONE ? 0 : j->ranks->ranks[rank].number;
}

/* What item i has for FMT_KEY_PEERS: nothing, where each of its meeting exchanges with all. */
static int list_peers(struct job *j, uint32_t i, fmt_str *ret)
{
	scoped(text_done) struct text t = {0};
	const struct pair *p = &j->pairs[j->items[i].first_peer];

	*ret = 0;
	if (!j->items[root(j, i)].in_pairs)
		return 0;
	for (uint32_t k = 0; k < j->items[i].n_peers; k++)
		text_printf(&t, "%s%u", k ? ", " : "[", number_of(j, p[k].member));
	text_str(&t, "]");
	return t.error ? t.error : fmt_names_string(j->names, t.data, t.len, ret);
}

static int name_comm(struct job *j, size_t first, size_t end, uint32_t *ret)
{
	scoped(free_ptr) uint32_t *ranks = malloc((end - first) * sizeof(*ranks));
	struct fmt_comm named = {.ranks = ranks};
	char name[24];
	int r, n = snprintf(name, sizeof(name), "%u", j->n_comms++);

	if (!ranks)
		return -ENOMEM;
	for (size_t i = first; i < end; i++)
		ranks[i - first] = number_of(j, (uint32_t)i);
	qsort(ranks, end - first, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < end - first; i++)
		if (i == 0 || ranks[i] != ranks[i - 1])
			ranks[named.n_ranks++] = ranks[i];
	r = fmt_names_string(j->names, name, (size_t)n, &named.name);
	return r < 0 ? r : fmt_names_comm(j->names, &named, ret);
}

static int meet(struct job *j, size_t first, size_t end)
{
	uint32_t comm;
	int r = list_items(j, first, end);

	if (r < 0 || j->n_items == 0)
		return r;
	join_collectives(j, first, end);
	r = join_messages(j);
	if (r == 0)
		r = name_comm(j, first, end, &comm);
	if (r < 0)
		return r;
	number(j, first, end);
	for (uint32_t i = 0; i < j->n_items && r == 0; i++) {
		const struct rec_process *p = j->members[j->items[i].member].process;
		struct rec_meeting *m = &j->ret[p->index][j->items[i].collective - p->collectives];

		m->comm = comm;
		m->seq = j->items[root(j, i)].seq;
		r = list_peers(j, i, &m->peers);
	}
	return r;
}

int rec_meetings_find(struct rec_process *const *processes, size_t n, const struct rec_ranks *ranks,
		      struct fmt_names *names, struct rec_meeting ***ret)
{
	scoped(job_done) struct job j = {
		.processes = processes, .n = n, .ranks = ranks, .names = names};
	int r;

	j.ret = calloc(n + 1, sizeof(*j.ret));
	if (!j.ret)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t count = processes[i]->n_collectives;

		j.ret[i] = malloc((count + 1) * sizeof(**j.ret));
		if (!j.ret[i])
			return -ENOMEM;
		for (size_t k = 0; k < count; k++)
			j.ret[i][k] = (struct rec_meeting){REC_NONE, -1, 0};
	}
	r = list_members(&j);
	for (size_t from = 0, to; from < j.n_members && r == 0; from = to) {
		for (to = from; to < j.n_members &&
				comm_of(&j.members[to])->id == comm_of(&j.members[from])->id;)
			to++;
		r = meet(&j, from, to);
	}
	if (r == 0)
		*ret = take(j.ret);
	return r;
}
