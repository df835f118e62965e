/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/clock/collective.h"

#include "base/array.h"
#include "base/scope.h"

struct member {
	int64_t sealed;	  /* the smallest number that it may still declare */
	int64_t largest;  /* largest number declared since the last seal */
	uint32_t n_since; /* declarations since the last seal */
	uint32_t rank, group;
	uint32_t next; /* of the same rank */
};

struct group {
	uint32_t first, n; /* members[first .. first + n) */
	uint32_t oldest, youngest;
	uint8_t ended; /* is in m->ended */
};

struct sim_collectives {
	struct sim_collective *collectives;
	size_t n_collectives, collectives_cap;
	uint32_t unused; /* first of a list through `next` */
	uint32_t *buckets;
	uint32_t n_buckets, n_live;

	struct group *groups;
	size_t n_groups, groups_cap;
	struct member *members;
	size_t n_members, members_cap;
	uint32_t *ranks; /* of the members */
	size_t ranks_cap;
	uint32_t *of_rank; /* the first member of each rank */
	uint8_t *gone;	   /* by rank: it will declare no more collectives */

	uint32_t *ended; /* groups */
	size_t n_ended, ended_cap;
};

int sim_collectives_new(uint32_t n_ranks, struct sim_collectives **ret)
{
	struct sim_collectives *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->unused = SIM_NONE;
	m->n_buckets = 1024;
	m->buckets = malloc(m->n_buckets * sizeof(*m->buckets));
	m->of_rank = malloc((n_ranks + 1ul) * sizeof(*m->of_rank));
	m->gone = calloc(n_ranks + 1ul, 1);
	if (!m->buckets || !m->of_rank || !m->gone) {
		sim_collectives_free(m);
		return -ENOMEM;
	}
	memset(m->buckets, 0xff, m->n_buckets * sizeof(*m->buckets));
	memset(m->of_rank, 0xff, (n_ranks + 1ul) * sizeof(*m->of_rank));
	*ret = m;
	return 0;
}

void sim_collectives_free(struct sim_collectives *m)
{
	if (!m)
		return;
	free(m->collectives);
	free(m->buckets);
	free(m->groups);
	free(m->members);
	free(m->ranks);
	free(m->of_rank);
	free(m->gone);
	free(m->ended);
	free(m);
}

int sim_add_group(struct sim_collectives *m, const uint32_t *ranks, uint32_t n, uint32_t *ret)
{
	struct group g = {.first = (uint32_t)m->n_members, .n = n, SIM_NONE, SIM_NONE, 0};

	if (m->n_members + n >= SIM_NONE ||
	    array_reserve(&m->groups, m->n_groups + 1, &m->groups_cap) < 0 ||
	    array_reserve(&m->ended, m->n_groups + 1, &m->ended_cap) < 0 ||
	    array_reserve(&m->members, m->n_members + n, &m->members_cap) < 0 ||
	    array_reserve(&m->ranks, m->n_members + n, &m->ranks_cap) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		m->ranks[m->n_members] = ranks[i];
		m->members[m->n_members] = (struct member){
			.sealed = m->gone[ranks[i]] ? INT64_MAX : INT64_MIN,
			.rank = ranks[i],
			.group = (uint32_t)m->n_groups,
			.next = m->of_rank[ranks[i]],
		};
		m->of_rank[ranks[i]] = (uint32_t)m->n_members++;
	}
	*ret = (uint32_t)m->n_groups;
	m->groups[m->n_groups++] = g;
	return 0;
}

uint32_t sim_participant(const struct sim_collectives *m, uint32_t rank, uint32_t group)
{
	uint32_t i = m->of_rank[rank];

	while (i != SIM_NONE && m->members[i].group != group)
		i = m->members[i].next;
	return i;
}

static uint32_t *bucket(const struct sim_collectives *m, uint32_t group, int64_t seq)
{
	uint64_t h = ((uint64_t)seq * 0x9e3779b97f4a7c15u) ^ (group * 0xc2b2ae3d27d4eb4fu);

	return &m->buckets[(h ^ h >> 29) & (m->n_buckets - 1)];
}

static uint32_t find_collective(const struct sim_collectives *m, uint32_t group, int64_t seq)
{
	uint32_t i = *bucket(m, group, seq);

	while (i != SIM_NONE && (m->collectives[i].seq != seq || m->collectives[i].group != group))
		i = m->collectives[i].next;
	return i;
}

/* Doubles the buckets when there are more collectives than buckets. */
static int grow_buckets(struct sim_collectives *m)
{
	uint32_t n = m->n_buckets * 2;
	uint32_t *grown;

	if (m->n_live < m->n_buckets || n == 0)
		return 0;
	grown = malloc(n * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	free(m->buckets);
	m->buckets = grown;
	m->n_buckets = n;
	memset(grown, 0xff, n * sizeof(*grown));
	for (size_t g = 0; g < m->n_groups; g++) {
		for (uint32_t i = m->groups[g].oldest; i != SIM_NONE;
		     i = m->collectives[i].younger) {
			uint32_t *at = bucket(m, (uint32_t)g, m->collectives[i].seq);

			m->collectives[i].next = *at;
			*at = i;
		}
	}
	return 0;
}

static int begin_collective(struct sim_collectives *m, uint32_t group, int64_t seq, uint32_t *ret)
{
	struct group *g = &m->groups[group];
	uint32_t i = m->unused, *at, unknown = 0;

	if (grow_buckets(m) < 0)
		return -ENOMEM;
	if (i != SIM_NONE) {
		m->unused = m->collectives[i].next;
	} else {
		if (m->n_collectives + 1 >= SIM_NONE ||
		    array_reserve(&m->collectives, m->n_collectives + 1, &m->collectives_cap) < 0)
			return -ENOMEM;
		i = (uint32_t)m->n_collectives++;
	}
	for (uint32_t k = g->first; k < g->first + g->n; k++)
		unknown += m->members[k].sealed <= seq;
	at = bucket(m, group, seq);
	m->collectives[i] = (struct sim_collective){
		.seq = seq,
		.when = moment_collective(),
		.end_ns = SIM_PENDING,
		.group = group,
		.unknown = unknown,
		.declarer = SIM_NONE,
		.next = *at,
		.older = g->youngest,
		.younger = SIM_NONE,
	};
	*at = i;
	if (g->youngest != SIM_NONE)
		m->collectives[g->youngest].younger = i;
	else
		g->oldest = i;
	g->youngest = i;
	m->n_live++;
	*ret = i;
	return 0;
}

static void end_collective(struct sim_collectives *m, struct sim_collective *t)
{
	struct group *g = &m->groups[t->group];

	t->end_ns = moment_end(&t->when);
	t->end_ns += t->end_ns == SIM_PENDING;
	if (!g->ended) {
		g->ended = 1;
		m->ended[m->n_ended++] = t->group;
	}
}

static void end_if_complete(struct sim_collectives *m, struct sim_collective *t)
{
	if (t->end_ns == SIM_PENDING && t->unknown == 0 && t->joined == t->expected)
		end_collective(m, t);
}

int sim_declare(struct sim_collectives *m, uint32_t member, int64_t seq, uint32_t *collective)
{
	struct member *who = &m->members[member];
	uint32_t i = find_collective(m, who->group, seq);
	struct sim_collective *t;

	if (seq < who->sealed && (i == SIM_NONE || m->collectives[i].end_ns != SIM_PENDING))
		return 0;
	if (i == SIM_NONE && begin_collective(m, who->group, seq, &i) < 0)
		return -ENOMEM;
	t = &m->collectives[i];
	if (t->declarer == member || t->end_ns != SIM_PENDING)
		return 0;
	t->declarer = member;
	t->expected++;
	t->unread++;
	*collective = i;
	if (seq < who->sealed)
		return 1;
	t->unknown--;
	if (who->n_since == 0 || seq > who->largest)
		who->largest = seq;
	who->n_since++;
	return 1;
}

static void seal_member(struct sim_collectives *m, uint32_t member, int ended)
{
	struct member *who = &m->members[member];
	int64_t from = who->sealed, to = ended ? INT64_MAX : who->largest + 1;
	uint32_t next;

	if (!ended && who->n_since == 0)
		return;
	who->sealed = to;
	if (ended || from == INT64_MIN || to - from != who->n_since) {
		for (uint32_t i = m->groups[who->group].oldest; i != SIM_NONE; i = next) {
			struct sim_collective *t = &m->collectives[i];

			next = t->younger;
			if (t->seq < from || t->seq >= to || t->declarer == member)
				continue;
			t->unknown--;
			end_if_complete(m, t);
		}
	}
	who->n_since = 0;
}

void sim_seal(struct sim_collectives *m, uint32_t rank, int ended)
{
	m->gone[rank] |= ended != 0;
	for (uint32_t i = m->of_rank[rank]; i != SIM_NONE; i = m->members[i].next)
		seal_member(m, i, ended);
}

void sim_join(struct sim_collectives *m, uint32_t collective, int64_t at_ns, int64_t duration_ns,
	      uint64_t who)
{
	struct sim_collective *t = &m->collectives[collective];

	t->joined++;
	if (t->end_ns != SIM_PENDING)
		return;
	if (at_ns > t->when.latest_ns)
		t->last = who;
	moment_join(&t->when, at_ns, duration_ns);
	end_if_complete(m, t);
}

size_t sim_n_collectives(const struct sim_collectives *m)
{
	return m->n_collectives;
}

const struct sim_collective *sim_collective(const struct sim_collectives *m, uint32_t collective)
{
	return &m->collectives[collective];
}

void sim_leave(struct sim_collectives *m, uint32_t collective)
{
	struct sim_collective *t = &m->collectives[collective];
	struct group *g = &m->groups[t->group];
	uint32_t *at;

	if (--t->unread > 0)
		return;
	for (at = bucket(m, t->group, t->seq); *at != collective; at = &m->collectives[*at].next)
		;
	*at = t->next;
	*(t->older != SIM_NONE ? &m->collectives[t->older].younger : &g->oldest) = t->younger;
	*(t->younger != SIM_NONE ? &m->collectives[t->younger].older : &g->youngest) = t->older;
	t->next = m->unused;
	m->unused = collective;
	m->n_live--;
}

int sim_force_end(struct sim_collectives *m)
{
	struct sim_collective *best = NULL;

	for (size_t g = 0; g < m->n_groups; g++) {
		for (uint32_t i = m->groups[g].oldest; i != SIM_NONE;
		     i = m->collectives[i].younger) {
			struct sim_collective *t = &m->collectives[i];

			if (t->end_ns == SIM_PENDING && t->joined > 0 &&
			    (!best || t->when.latest_ns < best->when.latest_ns))
				best = t;
		}
	}
	if (!best)
		return 0;
	end_collective(m, best);
	return 1;
}

uint32_t sim_ended_group(struct sim_collectives *m, const uint32_t **ranks)
{
	struct group *g;

	if (m->n_ended == 0)
		return 0;
	g = &m->groups[m->ended[--m->n_ended]];
	g->ended = 0;
	*ranks = m->ranks + g->first;
	return g->n;
}
