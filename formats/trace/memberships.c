/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/memberships.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/json.h"

#include <inttypes.h>

#define MOST_RANKS (1u << 20) /* larger communicators are treated as damage */

int fmt_memberships_put(struct fmt_names *names, uint32_t rank, const struct fmt_membership *m,
			size_t n)
{
	scoped(text_done) struct text json = {0};

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		text_printf(&json, "%s{\"id\": \"%016" PRIx64 "\", \"rank\": %u, \"ranks\": %u",
			    i == 0 ? "[" : ", ", m[i].id, m[i].rank, m[i].n);
		text_printf(&json, ", \"device\": %d", m[i].device);
		if (m[i].comm != FMT_NO_COMM)
			text_printf(&json, ", \"communicator\": %u", m[i].comm);
		if (m[i].skipped > 0)
			text_printf(&json, ", \"skipped\": %u", m[i].skipped);
		if (m[i].parent)
			text_printf(&json, ", \"split_of\": \"%016" PRIx64 "\", \"key\": %" PRId64,
				    m[i].parent, m[i].key);
		text_char(&json, '}');
	}
	text_char(&json, ']');
	return fmt_names_fact_text(names, rank, FMT_MEMBERSHIPS_KEY, &json);
}

/* Parses an id, 16 hex digits in quotes; 0 if missing. */
static uint64_t id_of(const char *object, size_t len, const char *key)
{
	const char *digits = "0";

	fmt_json_member_text(object, len, key, &digits);
	return strtoull(digits, NULL, 16);
}

int fmt_memberships_get(const struct fmt_names *names, uint32_t rank, struct fmt_membership **ret,
			size_t *n)
{
	const char *at = fmt_fact_value(names, rank, FMT_MEMBERSHIPS_KEY), *end, *object;
	scoped(free_ptr) struct fmt_membership *list = NULL;
	size_t len, cap = 0;

	*ret = NULL;
	*n = 0;
	if (!at || !fmt_json_valid(at, strlen(at)))
		return 0;
	for (end = at + strlen(at); fmt_json_element(&at, end, &object, &len) == 1; ++*n) {
		if (array_reserve(&list, *n + 1, &cap) < 0)
			return -ENOMEM;
		list[*n] = (struct fmt_membership){
			.id = id_of(object, len, "id"),
			.parent = id_of(object, len, "split_of"),
			.key = fmt_json_member_i64(object, len, "key", 0),
			.rank = (uint32_t)fmt_json_member_i64(object, len, "rank", 0),
			.n = (uint32_t)fmt_json_member_i64(object, len, "ranks", 0),
			.device = (int32_t)fmt_json_member_i64(object, len, "device", -1),
			.skipped = (uint32_t)fmt_json_member_i64(object, len, "skipped", 0),
			.comm = (uint32_t)fmt_json_member_i64(object, len, "communicator",
							      FMT_NO_COMM),
		};
	}
	*ret = take(list);
	return 0;
}

/* Marks which ranks of the largest communicator so far are there. */
static int mark_present_ranks(const struct fmt_membership *m, struct fmt_membership *world,
			      uint8_t **there)
{
	if (m->parent || m->n > MOST_RANKS || m->n < world->n || m->rank >= m->n ||
	    (m->n == world->n && m->id != world->id))
		return 0;
	if (m->n != world->n) {
		free(*there);
		*there = calloc(m->n, 1);
		if (!*there)
			return -ENOMEM;
		*world = *m;
	}
	(*there)[m->rank] = 1;
	return 0;
}

/* Adds a list, and its length. */
static int put_missing(struct fmt_names *names, const uint8_t *there, uint32_t n)
{
	scoped(text_done) struct text list = {0}, count = {0};
	uint32_t missing = 0;
	int r;

	for (uint32_t i = 0; i < n; i++)
		if (!there[i])
			text_printf(&list, "%s%u", missing++ == 0 ? "[" : ", ", i);
	text_char(&list, ']');
	text_u64(&count, missing);
	r = list.error ? list.error : count.error;
	if (r < 0 || missing == 0)
		return r;
	r = fmt_names_fact_json(names, FMT_WHOLE_TRACE, FMT_MISSING_KEY, count.data, count.len);
	return r < 0 ? r
		     : fmt_names_fact_json(names, FMT_WHOLE_TRACE, "missing_ranks", list.data,
					   list.len);
}

int fmt_memberships_put_missing(struct fmt_names *names, uint32_t n_ranks)
{
	scoped(free_ptr) uint8_t *there = NULL;
	struct fmt_membership world = {0};
	int r = 0;

	for (uint32_t i = 0; i < n_ranks && r == 0; i++) {
		scoped(free_ptr) struct fmt_membership *list = NULL;
		size_t n = 0;

		r = fmt_memberships_get(names, i, &list, &n);
		for (size_t k = 0; k < n && r == 0; k++)
			r = mark_present_ranks(&list[k], &world, &there);
	}
	return r < 0 ? r : put_missing(names, there, world.n);
}

const char *const fmt_rank_keys[] = {"env.RANK",     "env.SLURM_PROCID", "env.OMPI_COMM_WORLD_RANK",
				     "env.PMI_RANK", "env.LOCAL_RANK",	 NULL};

int64_t fmt_rank_value(const char *value)
{
	char *end;
	long long v;

	value += *value == '"';
	v = strtoll(value, &end, 10);
	return end != value && v >= 0 && v < INT32_MAX ? v : -1;
}
