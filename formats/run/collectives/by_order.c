/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/collectives/by_order.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>

#define NONE UINT32_MAX

/* One operation of one participant. The items of one collective form a set (union-find). */
struct item {
	struct fmt_collective_op *op;
	uint32_t participant;
	uint32_t parent;	      /* in the set */
	uint32_t count;		      /* of the root: items in the set */
	uint32_t first_peer, n_peers; /* of the job's pairs */
	uint32_t ready;		      /* of the root: items that are next on their rank */
	int in_pairs;		      /* of the root: some item does not exchange with all others */
	int64_t seq;		      /* of the root; -1: not numbered yet */
};

/* An item that exchanges with a participant other than its own. */
struct pair {
	uint32_t item, participant;
};

/* Progress of a participant of the communicator. */
struct progress {
	uint32_t rank;	     /* in the communicator; of a split, by the order of participants */
	uint32_t first, n;   /* its items */
	uint32_t n_numbered; /* number of numbered items */
	uint32_t skipped;    /* collectives before its items */
};

struct job {
	struct fmt_names *names;
	struct progress *progress; /* by participant */
	struct item *items;
	size_t n_items, items_cap;
	struct pair *pairs; /* of the items: by item, then participant */
	size_t n_pairs, pairs_cap;
	uint32_t n_comms;
};

static void job_done(struct job *j)
{
	free(j->progress);
	free(j->items);
	free(j->pairs);
}

static int by_comm_and_rank(const void *a, const void *b)
{
	const struct fmt_participant *x = a, *y = b;
	const struct fmt_membership *c = &x->member, *d = &y->member;

	return array_order(c->id, d->id) ?: array_order(c->key, d->key)
	       ?: array_order(c->rank, d->rank) ?: array_order(x->owner, y->owner);
}

static int list_items(struct job *j, const struct fmt_participant *participants, size_t n)
{
	j->n_items = j->n_pairs = 0;
	for (size_t i = 0; i < n; i++) {
		const struct fmt_participant *p = &participants[i];

		if (p->n_ops >= NONE - j->n_items)
			return -EOVERFLOW;
		j->progress[i] =
			(struct progress){.rank = p->member.parent ? (uint32_t)i : p->member.rank,
					  .first = (uint32_t)j->n_items,
					  .n = (uint32_t)p->n_ops,
					  .skipped = p->member.skipped};
		if (array_reserve(&j->items, j->n_items + p->n_ops, &j->items_cap) < 0)
			return -ENOMEM;
		for (size_t k = 0; k < p->n_ops; k++, j->n_items++)
			j->items[j->n_items] = (struct item){.op = &p->ops[k],
							     .participant = (uint32_t)i,
							     .parent = (uint32_t)j->n_items,
							     .seq = -1};
	}
	return 0;
}

static uint32_t set_root(struct job *j, uint32_t i)
{
	while (j->items[i].parent != i)
		i = j->items[i].parent = j->items[j->items[i].parent].parent;
	return i;
}

static void join_items(struct job *j, uint32_t a, uint32_t b)
{
	a = set_root(j, a);
	b = set_root(j, b);
	if (a != b)
		j->items[a < b ? b : a].parent = a < b ? a : b;
}

/* Finds the participant's next collective of all ranks, at or after item *at. */
static bool next_collective(const struct job *j, const struct progress *p, uint32_t *at)
{
	while (*at < p->n && j->items[p->first + *at].op->is_message)
		++*at;
	return *at < p->n;
}

/* Matches the collectives of two participants. If recording of one began later, skips the calls
 * that only the other recorded. */
static void join_two(struct job *j, const struct progress *a, const struct progress *b)
{
	uint32_t k = 0, l = 0;
	int64_t behind = (int64_t)a->skipped - b->skipped;

	while (behind > 0 && next_collective(j, b, &l))
		l++, behind--;
	while (behind < 0 && next_collective(j, a, &k))
		k++, behind++;
	for (; next_collective(j, a, &k) && next_collective(j, b, &l); k++, l++)
		join_items(j, a->first + k, b->first + l);
}

/* Matches all participants with the one that was recorded from the earliest call. */
static void join_collectives(struct job *j, size_t n)
{
	size_t first = 0;

	for (size_t i = 1; i < n; i++)
		if (j->progress[i].skipped < j->progress[first].skipped)
			first = i;
	for (size_t i = 0; i < n; i++)
		if (i != first)
			join_two(j, &j->progress[first], &j->progress[i]);
}

/* A send or receive, by sender and receiver. */
struct message {
	uint32_t from, to, item;
	uint32_t order;
	uint8_t receives;
};

static int by_pair(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	return array_order(x->from, y->from) ?: array_order(x->to, y->to)
	       ?: array_order(x->receives, y->receives) ?: array_order(x->order, y->order);
}

static int list_messages(const struct job *j, struct message **ret, size_t *n)
{
	size_t cap = 0;

	for (uint32_t i = 0; i < j->n_items; i++) {
		const struct fmt_collective_op *op = j->items[i].op;
		const struct progress *m = &j->progress[j->items[i].participant];

		for (uint32_t k = 0; k < op->n_messages; k++) {
			const struct fmt_message *s = &op->messages[k];

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

/* Joins a send and its receive: each waits for the other's rank. */
static int pair_items(struct job *j, uint32_t a, uint32_t b)
{
	uint32_t x = j->items[a].participant, y = j->items[b].participant;

	join_items(j, a, b);
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

	return array_order(x->item, y->item) ?: array_order(x->participant, y->participant);
}

/* Sorts and deduplicates the peers of the items. */
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
	for (size_t from = 0, to, k; from < n && r == 0; from = to) {
		for (to = receives = from;
		     to < n && list[to].from == list[from].from && list[to].to == list[from].to;
		     to++)
			receives += !list[to].receives;
		for (k = 0; r == 0 && from + k < receives && receives + k < to; k++)
			r = pair_items(j, list[from + k].item, list[receives + k].item);
	}
	sort_pairs(j);
	return r;
}

/* Counts the participant's next item in its collective, which is complete when all items are
 * counted. */
static void count_ready(struct job *j, const struct progress *m)
{
	if (m->n_numbered < m->n)
		j->items[set_root(j, m->first + m->n_numbered)].ready++;
}

static uint32_t next_complete(struct job *j, size_t n)
{
	uint32_t forced = NONE;

	for (size_t i = 0; i < n; i++) {
		const struct progress *m = &j->progress[i];
		uint32_t at;

		if (m->n_numbered >= m->n)
			continue;
		at = set_root(j, m->first + m->n_numbered);
		if (j->items[at].seq < 0 && j->items[at].ready >= j->items[at].count)
			return at;
		forced = forced == NONE ? at : forced;
	}
	return forced;
}

/* Numbers the collectives in an order that agrees with each participant. If the
 * participants contradict each other, for example in a cut-off recording, uses the order of the
 * first participant. */
static void number_items(struct job *j, size_t n)
{
	int64_t seq = 0;
	uint32_t next;

	for (uint32_t i = 0; i < j->n_items; i++)
		j->items[set_root(j, i)].count++;
	for (uint32_t i = 0; i < j->n_items; i++) {
		struct item *all = &j->items[set_root(j, i)];

		all->in_pairs |= j->items[i].n_peers > 0 && j->items[i].n_peers + 1 < all->count;
	}
	for (size_t i = 0; i < n; i++)
		count_ready(j, &j->progress[i]);
	while ((next = next_complete(j, n)) != NONE) {
		j->items[next].seq = seq++;
		for (size_t i = 0; i < n; i++) {
			struct progress *m = &j->progress[i];

			while (m->n_numbered < m->n &&
			       j->items[set_root(j, m->first + m->n_numbered)].seq >= 0) {
				m->n_numbered++;
				count_ready(j, m);
			}
		}
	}
}

static int compare_ranks(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return array_order(x, y);
}

/* Sets FMT_KEY_PEERS of an item: 0 if every item of its collective exchanges with all others. */
static int list_peers(struct job *j, const struct fmt_participant *participants, uint32_t i,
		      fmt_str *ret)
{
	scoped(text_done) struct text t = {0};
	const struct pair *p = &j->pairs[j->items[i].first_peer];

	*ret = 0;
	if (!j->items[set_root(j, i)].in_pairs)
		return 0;
	for (uint32_t k = 0; k < j->items[i].n_peers; k++)
		text_printf(&t, "%s%u", k ? ", " : "[", participants[p[k].participant].number);
	text_str(&t, "]");
	return t.error ? t.error : fmt_names_string(j->names, t.data, t.len, ret);
}

/* Names the communicator of these participants. */
static int name_comm(const struct fmt_participant *participants, size_t n, uint32_t number,
		     struct fmt_names *names, uint32_t *ret)
{
	scoped(free_ptr) uint32_t *ranks = malloc((n + 1) * sizeof(*ranks));
	struct fmt_comm named = {.ranks = ranks};
	char name[24];
	int r, len = snprintf(name, sizeof(name), "%u", number);

	if (!ranks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ranks[i] = participants[i].number;
	qsort(ranks, n, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || ranks[i] != ranks[i - 1])
			ranks[named.n_ranks++] = ranks[i];
	r = fmt_names_string(names, name, (size_t)len, &named.name);
	return r < 0 ? r : fmt_names_comm(names, &named, ret);
}

/* Numbers the collectives of one communicator. */
static int number_comm(struct job *j, struct fmt_participant *participants, size_t n)
{
	int r = list_items(j, participants, n);

	if (r < 0 || j->n_items == 0)
		return r;
	join_collectives(j, n);
	r = join_messages(j);
	if (r == 0)
		number_items(j, n);
	for (uint32_t i = 0; i < j->n_items && r == 0; i++) {
		j->items[i].op->seq = j->items[set_root(j, i)].seq;
		r = list_peers(j, participants, i, &j->items[i].op->peers);
	}
	return r;
}

/* Names one communicator and numbers its collectives. */
static int number_collectives(struct job *j, struct fmt_participant *participants, size_t n)
{
	uint32_t comm = FMT_NO_COMM;
	int r = number_comm(j, participants, n);

	if (r == 0 && j->n_items > 0)
		r = name_comm(participants, n, j->n_comms++, j->names, &comm);
	for (size_t i = 0; i < n; i++)
		participants[i].member.comm = comm;
	return r;
}

int fmt_collectives_match_by_order(struct fmt_participant *participants, size_t n,
				   struct fmt_names *names)
{
	scoped(job_done) struct job j = {.names = names};
	int r = 0;

	j.progress = calloc(n + 1, sizeof(*j.progress));
	if (!j.progress)
		return -ENOMEM;
	if (n > 0)
		qsort(participants, n, sizeof(*participants), by_comm_and_rank);
	for (size_t from = 0, to; from < n && r == 0; from = to) {
		for (to = from;
		     to < n && participants[to].member.id == participants[from].member.id;)
			to++;
		r = number_collectives(&j, participants + from, to - from);
	}
	return r;
}

int fmt_participants_put(const struct fmt_participant *participants, size_t n, uint32_t n_ranks,
			 struct fmt_names *names)
{
	scoped(free_ptr) struct fmt_membership *members = malloc((n + 1) * sizeof(*members));
	int r = members ? 0 : -ENOMEM;

	for (uint32_t rank = 0; rank < n_ranks && r == 0; rank++) {
		size_t of_rank = 0;

		for (size_t i = 0; i < n; i++)
			if (participants[i].rank == rank)
				members[of_rank++] = participants[i].member;
		r = fmt_memberships_put(names, rank, members, of_rank);
	}
	return r;
}
