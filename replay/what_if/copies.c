/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/what_if/copies.h"

#include "base/array.h"
#include "base/scope.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Assumed size of a message of unknown size: large enough for bandwidth alone to matter. */
#define UNKNOWN_BYTES (64 << 20)

void copies_free(struct copies *c)
{
	if (!c)
		return;
	free(c->source);
	free(c->numbers);
	free(c->place);
	free(c->connects);
	free(c);
}

define_cleanup(copies_free_ptr, struct copies *, copies_free);

/* State of copies_new(). */
struct search {
	const struct fmt_names *names;
	const uint32_t *numbers;
	uint32_t n_ranks, n_comms;
	uint32_t *copy, *part; /* by rank: its copy, and its part of the model */
	struct copies *c;
	struct what_if_error *err;
};

static int refuse(struct search *s, const char *why)
{
	snprintf(s->err->why, sizeof(s->err->why), "the data-parallel ranks are not known: %s",
		 why);
	return -EINVAL;
}

/* The index of a rank by its number; n if not found. */
static uint32_t rank_of(const uint32_t *numbers, uint32_t n, uint32_t number)
{
	uint32_t i = number < n && numbers[number] == number ? number : 0;

	while (i < n && numbers[i] != number)
		i++;
	return i;
}

/* ---- communicators ---- */

static int has_word(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(name, *words))
			return 1;
	return 0;
}

static int name_contains(const struct search *s, uint32_t comm, const char *const *words)
{
	const struct fmt_comm *c = fmt_comm(s->names, comm);

	return has_word(fmt_string(s->names, c->name, NULL), words) ||
	       has_word(fmt_string(s->names, c->description, NULL), words);
}

static uint32_t size_of(const struct search *s, uint32_t comm)
{
	const struct fmt_comm *c = fmt_comm(s->names, comm);

	return c->n_ranks == 0 ? s->n_ranks : c->n_ranks;
}

/* Returns the index of the communicator's rank k; s->n_ranks if it is not in the trace. */
static uint32_t rank_of_member(const struct search *s, uint32_t comm, uint32_t k)
{
	const struct fmt_comm *c = fmt_comm(s->names, comm);

	return c->n_ranks == 0 ? k : rank_of(s->numbers, s->n_ranks, c->ranks[k]);
}

/* Marks the communicators for data parallelism. */
static int find_data(struct search *s)
{
	static const char *const data[] = {"dp", "data", NULL};
	static const char *const other[] = {"tp",     "pp",   "ep",	"cp",
					    "tensor", "pipe", "expert", NULL};
	uint32_t n = 0, last = 0, found = 0;

	for (uint32_t i = 0; i < s->n_comms; i++) {
		if (size_of(s, i) < 2)
			continue;
		n++;
		last = i;
		if (name_contains(s, i, data)) {
			s->c->connects[i] = COPIES_SAME_PART;
			s->c->data = i;
			found++;
		}
	}
	if (found > 0)
		return 0;
	if (n == 0)
		return refuse(s, "the trace has no communicator of several ranks");
	if (n > 1 || name_contains(s, last, other))
		return refuse(
			s, "no communicator has 'dp' or 'data' in its name, and there are others");
	s->c->connects[last] = COPIES_SAME_PART;
	s->c->data = last;
	return 0;
}

/* Numbers the copies and parts of the model: the k-th rank of each communicator for data
 * parallelism is in copy k. */
static int divide_ranks(struct search *s)
{
	uint32_t parts = 0, copies = size_of(s, s->c->data);

	for (uint32_t i = 0; i < s->n_ranks; i++)
		s->copy[i] = UINT32_MAX;
	for (uint32_t i = 0; i < s->n_comms; i++) {
		if (s->c->connects[i] != COPIES_SAME_PART)
			continue;
		if (size_of(s, i) != copies)
			return refuse(s, "its communicators have different numbers of ranks");
		for (uint32_t k = 0; k < copies; k++) {
			uint32_t rank = rank_of_member(s, i, k);

			if (rank == s->n_ranks)
				return refuse(s, "the trace does not contain all of them");
			if (s->copy[rank] != UINT32_MAX)
				return refuse(s, "a rank is in several of its communicators");
			s->copy[rank] = k;
			s->part[rank] = parts;
		}
		parts++;
	}
	for (uint32_t i = 0; i < s->n_ranks; i++)
		if (s->copy[i] == UINT32_MAX)
			return refuse(s, "a rank is in none of its communicators");
	s->c->n_recorded = copies;
	s->c->per_copy = parts;
	return 0;
}

/* Groups ranks that are connected by the other communicators. */
static int group_ranks(struct search *s)
{
	for (uint32_t i = 0; i < s->n_comms; i++) {
		uint32_t n = size_of(s, i), first, same = 1;

		if (n < 2 || s->c->connects[i] == COPIES_SAME_PART)
			continue;
		if (n == s->n_ranks) {
			s->c->connects[i] = COPIES_ALL;
			continue;
		}
		first = rank_of_member(s, i, 0);
		for (uint32_t k = 0; k < n; k++) {
			uint32_t rank = rank_of_member(s, i, k);

			if (rank == s->n_ranks)
				return refuse(s,
					      "a communicator has ranks that are not in the trace");
			same &= s->copy[rank] == s->copy[first];
		}
		if (n > s->c->per_copy)
			return refuse(s, "a communicator has more ranks than a copy");
		if (!same)
			return refuse(s, "another communicator connects ranks of several copies");
		s->c->connects[i] = COPIES_ONE_COPY;
	}
	return 0;
}

/* ---- ranks ---- */

/* A number below n: the high bits of splitmix64. */
static uint32_t draw_below(uint64_t *state, uint32_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)(((z ^ z >> 31) >> 32) * n >> 32);
}

static int make_ranks(struct search *s)
{
	struct copies *c = s->c;
	uint32_t next = 0;
	uint64_t state = COPIES_SEED;

	c->n_ranks = c->n * c->per_copy;
	c->source = malloc((c->n_ranks + 1ul) * sizeof(*c->source));
	c->numbers = malloc((c->n_ranks + 1ul) * sizeof(*c->numbers));
	c->place = malloc((s->n_ranks + 1ul) * sizeof(*c->place));
	if (!c->source || !c->numbers || !c->place)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_ranks; i++) {
		c->place[i] = s->copy[i] * c->per_copy + s->part[i];
		if (c->place[i] < c->n_ranks) {
			c->source[c->place[i]] = i;
			c->numbers[c->place[i]] = s->numbers[i];
		}
		next = s->numbers[i] >= next ? s->numbers[i] + 1 : next;
	}
	for (uint32_t k = c->n_recorded; k < c->n; k++) {
		uint32_t from = draw_below(&state, c->n_recorded);

		for (uint32_t i = 0; i < s->n_ranks; i++) {
			uint32_t rank = k * c->per_copy + s->part[i];

			if (s->copy[i] != from)
				continue;
			c->source[rank] = i;
			c->numbers[rank] = next + rank - c->n_recorded * c->per_copy;
		}
	}
	return 0;
}

/* ---- the network ---- */

static int find_links(struct search *s)
{
	char why[160];

	return links_init(&s->c->links, s->names, why, sizeof(why)) < 0 ? refuse(s, why) : 0;
}

double copies_factor(const struct copies *c, uint32_t comm, const char *op,
		     const struct fmt_network_fit *fit, int64_t bytes)
{
	enum cost_collective kind = links_kind(op);
	uint32_t per = c->connects[comm] == COPIES_ALL ? c->per_copy : 1;
	uint32_t recorded = c->n_recorded * per, all = c->n_recorded * c->per_copy;
	double size = bytes >= 0 ? (double)bytes : UNKNOWN_BYTES, before, after;
	struct cost_links links;

	if (c->connects[comm] != COPIES_SAME_PART && c->connects[comm] != COPIES_ALL)
		return 1;
	links = links_fit(&c->links, fit, kind, recorded, all, size);
	before = links_time_ns(&links, kind, recorded, all, size);
	after = links_time_ns(&links, kind, c->n * per, c->n_ranks, size);
	return before > 0 && after > 0 ? exp2(rint(log2(after / before) * 1024) / 1024) : 1;
}

/* ---- the whole run ---- */

static void search_done(struct search *s)
{
	free(s->copy);
	free(s->part);
}

int copies_new(const struct fmt_names *names, const uint32_t *numbers, uint32_t n_ranks, uint32_t n,
	       struct copies **ret, struct what_if_error *err)
{
	scoped(copies_free_ptr) struct copies *c = calloc(1, sizeof(*c));
	scoped(search_done) struct search s = {
		.names = names,
		.numbers = numbers,
		.n_ranks = n_ranks,
		.n_comms = fmt_n_comms(names),
		.copy = calloc(n_ranks + 1ul, sizeof(*s.copy)),
		.part = calloc(n_ranks + 1ul, sizeof(*s.part)),
		.c = c,
		.err = err,
	};
	int r;

	if (!c || !s.copy || !s.part)
		return -ENOMEM;
	c->n = n;
	c->connects = calloc(s.n_comms + 1ul, 1);
	if (!c->connects)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_ranks; i++)
		if (fmt_fact_value(names, i, FMT_FACT_PROCESS))
			return refuse(&s, "GPUs share a process");
	r = find_data(&s) ?: divide_ranks(&s) ?: group_ranks(&s);
	if (r == 0 && (uint64_t)n * c->per_copy > COPIES_RANKS)
		r = refuse(&s, "more than a million ranks");
	r = r ?: make_ranks(&s) ?: find_links(&s);
	if (r == 0)
		*ret = take(c);
	return r;
}

uint32_t copies_group(const struct copies *c, const struct fmt_names *names,
		      const uint32_t *numbers, uint32_t n_recorded, uint32_t comm, uint32_t copy,
		      uint32_t *ranks)
{
	const struct fmt_comm *of = fmt_comm(names, comm);
	uint32_t n = of->n_ranks == 0 ? n_recorded : of->n_ranks, found = 0;
	uint32_t from = copy * c->per_copy < c->n_ranks ? c->source[copy * c->per_copy] : 0;
	uint32_t first = of->n_ranks == 0 ? 0 : rank_of(numbers, n_recorded, of->ranks[0]);

	switch (c->connects[comm]) {
	case COPIES_ALL:
		for (uint32_t i = 0; i < c->n_ranks; i++)
			ranks[i] = i;
		return c->n_ranks;
	case COPIES_SAME_PART:
		for (uint32_t k = 0; k < c->n; k++)
			ranks[k] = k * c->per_copy + c->place[first] % c->per_copy;
		return c->n;
	case COPIES_ONE_COPY:
		if (c->place[first] / c->per_copy != c->place[from] / c->per_copy)
			return 0;
		for (uint32_t k = 0; k < n; k++) {
			uint32_t rank =
				of->n_ranks == 0 ? k : rank_of(numbers, n_recorded, of->ranks[k]);

			ranks[found++] = copy * c->per_copy + c->place[rank] % c->per_copy;
		}
		return found;
	default:
		return 0;
	}
}
