/* SPDX-License-Identifier: Apache-2.0 */

/* Checks that the parts are of one run. Parts of one run are tied by the launcher's name of the
 * run, by a communicator with members in both, by the part numbers that gpucapture was given, or by
 * PyTorch's description of the job. */
#include "formats/run/join/parts.h"

#include "base/array.h"
#include "base/scope.h"

/* The most that the clocks of hosts may differ. */
#define CLOCKS_APART_NS (30 * INT64_C(1000000000))

struct member {
	uint64_t comm; /* its id */
	uint32_t rank, part;
};

struct ties {
	struct join *j;
	struct member *members; /* owned; by communicator, rank, part */
	size_t n, cap;
	uint8_t *reaches; /* owned; by part: 1 if a communicator of it has ranks elsewhere */
	uint32_t *tied;	  /* owned; by part: another one that it is tied to, or itself */
	bool ranks_differ;
};

static void ties_done(struct ties *t)
{
	free(t->members);
	free(t->reaches);
	free(t->tied);
}

static const char *path_of(const struct ties *t, uint32_t part)
{
	return t->j->options->paths[part];
}

static uint32_t root_of(struct ties *t, uint32_t part)
{
	while (t->tied[part] != part)
		part = t->tied[part] = t->tied[t->tied[part]];
	return part;
}

static void tie(struct ties *t, uint32_t a, uint32_t b)
{
	t->tied[root_of(t, a)] = root_of(t, b);
}

/* ---- communicators */

static int by_comm(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return array_order(x->comm, y->comm) ?: array_order(x->rank, y->rank)
	       ?: array_order(x->part, y->part);
}

static int add_rank(struct ties *t, uint32_t part, uint32_t rank)
{
	const struct fmt_names *names = fmt_trace_names(t->j->parts[part].trace);
	scoped(free_ptr) struct fmt_membership *list = NULL;
	size_t n = 0;
	int r = fmt_memberships_get(names, rank, &list, &n);

	if (r == 0)
		r = array_reserve(&t->members, t->n + n, &t->cap);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (list[i].id == 0)
			continue;
		t->reaches[part] |= list[i].n > fmt_trace_n_ranks(t->j->parts[part].trace);
		t->members[t->n++] = (struct member){list[i].id, list[i].rank, part};
	}
	return r;
}

/* Ties parts that have members of the same communicator. A rank of a communicator is in one part
 * only. */
static int tie_by_communicators(struct ties *t)
{
	for (uint32_t i = 0; i < t->j->options->n_paths; i++)
		for (uint32_t k = 0; k < fmt_trace_n_ranks(t->j->parts[i].trace); k++)
			if (add_rank(t, i, k) < 0)
				return -ENOMEM;
	if (t->n > 0)
		qsort(t->members, t->n, sizeof(*t->members), by_comm);
	for (size_t i = 1; i < t->n; i++) {
		const struct member *a = &t->members[i - 1], *b = &t->members[i];

		if (a->comm != b->comm || a->part == b->part)
			continue;
		if (a->rank == b->rank)
			return fmt_fail(t->j->err, -EBADMSG, path_of(t, b->part), FMT_NO_OFFSET,
					"holds the same rank as %.90s", path_of(t, a->part));
		tie(t, a->part, b->part);
	}
	return 0;
}

/* ---- what launchers and users say */

/* Whether both have numbers from gpucapture --part=I/N and no name of the run. If each has a
 * communicator with ranks elsewhere, they would have to share it. */
static bool is_declared(const struct ties *t, uint32_t a, uint32_t b)
{
	const struct fmt_origin *x = &t->j->parts[a].origin, *y = &t->j->parts[b].origin;

	return x->n_parts > 1 && x->n_parts == y->n_parts && !x->run[0] && !y->run[0] &&
	       !(t->reaches[a] && t->reaches[b]);
}

static void span_of(const struct fmt_trace *t, int64_t *start_ns, int64_t *end_ns)
{
	*start_ns = INT64_MAX;
	*end_ns = INT64_MIN;
	for (uint32_t i = 0; i < fmt_trace_n_ranks(t); i++) {
		const struct fmt_rank *rank = fmt_trace_rank(t, i);

		*start_ns = rank->start_ns < *start_ns ? rank->start_ns : *start_ns;
		*end_ns = rank->end_ns > *end_ns ? rank->end_ns : *end_ns;
	}
}

/* Whether both describe a job with the same number of ranks, hold different ranks of it, and were
 * recorded at the same time. */
static bool is_one_world(const struct ties *t, uint32_t a, uint32_t b)
{
	const struct fmt_trace *x = t->j->parts[a].trace, *y = t->j->parts[b].trace;
	uint64_t ranks = fmt_origin_ranks(fmt_trace_names(x));
	int64_t from[2], to[2];

	span_of(x, &from[0], &to[0]);
	span_of(y, &from[1], &to[1]);
	return t->ranks_differ && ranks > 1 && ranks == fmt_origin_ranks(fmt_trace_names(y)) &&
	       from[1] / 2 - to[0] / 2 < CLOCKS_APART_NS / 2 &&
	       from[0] / 2 - to[1] / 2 < CLOCKS_APART_NS / 2;
}

static bool is_same_launch(const struct ties *t, uint32_t a, uint32_t b)
{
	const struct fmt_origin *x = &t->j->parts[a].origin, *y = &t->j->parts[b].origin;

	return x->run[0] && strcmp(x->run, y->run) == 0;
}

/* Refuses pairs that cannot be two parts of one run. */
static int check_pair(struct ties *t, uint32_t a, uint32_t b)
{
	const struct fmt_origin *x = &t->j->parts[a].origin, *y = &t->j->parts[b].origin;
	const char *id = fmt_trace_id(t->j->parts[a].trace);

	if (*id && strcmp(id, fmt_trace_id(t->j->parts[b].trace)) == 0)
		return fmt_fail(t->j->err, -EBADMSG, path_of(t, b), FMT_NO_OFFSET,
				"the same trace as %.110s", path_of(t, a));
	if (x->run[0] && y->run[0] && strcmp(x->run, y->run) != 0)
		return fmt_fail(t->j->err, -EBADMSG, path_of(t, b), FMT_NO_OFFSET,
				"of another run than %.110s", path_of(t, a));
	if (x->n_parts > 1 && x->n_parts == y->n_parts && x->part == y->part)
		return fmt_fail(t->j->err, -EBADMSG, path_of(t, b), FMT_NO_OFFSET,
				"part %u of the run, as %.100s", x->part, path_of(t, a));
	return 0;
}

/* Compares each part with the first and with the one before it. */
static int each_pair(struct ties *t, int (*check)(struct ties *t, uint32_t a, uint32_t b))
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < t->j->options->n_paths; i++) {
		r = check(t, 0, i);
		if (r == 0 && i > 1)
			r = check(t, i - 1, i);
	}
	return r;
}

static int tie_pair(struct ties *t, uint32_t a, uint32_t b)
{
	if (is_same_launch(t, a, b) || is_declared(t, a, b) || is_one_world(t, a, b))
		tie(t, a, b);
	return 0;
}

int join_same_run(struct join *j, bool ranks_differ)
{
	size_t n = j->options->n_paths;
	scoped(ties_done) struct ties t = {.j = j, .ranks_differ = ranks_differ};
	int r;

	t.reaches = calloc(n + 1, sizeof(*t.reaches));
	t.tied = calloc(n + 1, sizeof(*t.tied));
	if (!t.reaches || !t.tied)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		t.tied[i] = i;
	r = each_pair(&t, check_pair);
	if (r == 0)
		r = tie_by_communicators(&t);
	if (r == 0)
		r = each_pair(&t, tie_pair);
	for (uint32_t i = 1; r == 0 && i < n; i++)
		if (root_of(&t, i) != root_of(&t, 0))
			r = fmt_fail(j->err, -EBADMSG, j->options->paths[i], FMT_NO_OFFSET,
				     "not known to be of the same run as %.100s",
				     j->options->paths[0]);
	return r;
}
