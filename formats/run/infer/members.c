/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/members.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/peers.h"
#include "formats/trace/json.h"

#define MOST_RANKS (1u << 20) /* larger process groups are treated as damage */

struct list {
	uint32_t *ranks;
	size_t n, cap;
};

static void list_done(struct list *l)
{
	free(l->ranks);
}

static int by_number(const void *a, const void *b)
{
	return array_order(*(const uint32_t *)a, *(const uint32_t *)b);
}

static uint32_t sort_unique(uint32_t *ranks, size_t n)
{
	uint32_t kept = 0;

	if (n > 0)
		qsort(ranks, n, sizeof(*ranks), by_number);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || ranks[i] != ranks[kept - 1])
			ranks[kept++] = ranks[i];
	return kept;
}

/* Reads "[0, 1, 2]". The profiler truncates long lists ("[0, 1, ..., 7]"), which are ignored. */
static int read_list(const char *text, size_t len, struct list *l)
{
	const char *at = text;
	uint32_t rank;

	l->n = 0;
	if (len < 2 || text[0] != '[' || memmem(text, len, "...", 3))
		return 0;
	while (at < text + len && fmt_peers_next(&at, &rank) && l->n < MOST_RANKS) {
		if (array_reserve(&l->ranks, l->n + 1, &l->cap) < 0)
			return -ENOMEM;
		l->ranks[l->n++] = rank;
	}
	return 0;
}

/* Reads the ranks of a process group from the profiler's list of all groups. */
static int read_config(const struct infer_view *v, const char *group, struct list *l)
{
	const char *fact = fmt_fact_value(v->names, v->index, "distributedInfo");
	const char *groups, *end, *object, *ranks, *name;
	size_t len, n;

	if (!fact || !fmt_json_valid(fact, strlen(fact)) ||
	    !fmt_json_member(fact, strlen(fact), "pg_config", &groups, &len))
		return 0;
	for (end = groups + len; fmt_json_element(&groups, end, &object, &len) == 1;) {
		n = fmt_json_member_text(object, len, "pg_name", &name);
		if (n == strlen(group) && n > 0 && memcmp(name, group, n) == 0 &&
		    fmt_json_member(object, len, "ranks", &ranks, &n))
			return read_list(ranks, n, l);
	}
	return 0;
}

static bool contains_rank(const struct list *l, uint32_t rank)
{
	return l->n > 0 && bsearch(&rank, l->ranks, l->n, sizeof(rank), by_number) != NULL;
}

int infer_comm_ranks(const struct infer_view *v, const struct fmt_ends_row *row, uint32_t **ranks,
		     uint32_t *n)
{
	scoped(list_done) struct list l = {0};
	size_t len;
	const char *text = fmt_string(v->names, row->ranks, &len);
	int r = read_list(text, len, &l);

	*n = sort_unique(*ranks, *n);
	if (r == 0 && l.n == 0 && row->group)
		r = read_config(v, fmt_string(v->names, row->group, NULL), &l);
	if (r < 0)
		return r;
	l.n = sort_unique(l.ranks, l.n);
	for (uint32_t i = 0; i < *n; i++)
		if (!contains_rank(&l, (*ranks)[i]))
			return 0;
	free(*ranks);
	*n = (uint32_t)l.n;
	*ranks = take(l.ranks);
	return 0;
}
