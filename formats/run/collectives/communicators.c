/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/collectives/by_ends.h"

#include "formats/run/collectives/sets.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/hash.h"

#include <math.h>
#include <stdbool.h>

#define US 1000		    /* in ns */
#define AGREE_NS (150 * US) /* between ends of one collective, on ranks of one host */
#define MOST_NS (5000 * US) /* the same for a long collective */
#define NEAR 64		    /* number of collectives compared with each */
#define WHOLE 0.7	    /* share of a row that must agree */
#define SAMPLES 64
#define EDGE 8		   /* recordings begin and end at most this many collectives apart */
#define PART 0.35	   /* the same of a row of sends and receives, which has several partners */
#define LESS 0.12F	   /* partners of a row may agree less than the best one by this much */
#define APART_NS (20 * US) /* error of a comparison of times on two ranks */
#define LEAST_WAITS 3	   /* number of times that one set must have waited for another */
#define LEAST_OVERLAPS 8   /* operations that show that two sets always overlap */
#define MORE_US                                                                                    \
	1 /* added to the limit of the spread: 2.5 times that of the best partner, or the usual    \
	     one */
#define FEW 88 /* few collectives show little: of n, the limit is larger by this / n^3 */

/* An operation, in the order of ends. */
struct ending {
	int64_t start_ns, end_ns;
	fmt_str name;
	uint32_t row;
};

/* The agreement of two rows. */
struct vote {
	uint32_t a, b; /* rows, a < b */
	uint32_t n;
	float us[SAMPLES]; /* differences of ends, the latest ones */
	float spread;	   /* median deviation of `us` */
	float apart;	   /* median of their absolute values */
	float part;	   /* share of the shorter row that agrees */
};

struct votes {
	struct vote *votes;
	size_t n, cap;
	struct fmt_hash_table table;
};

static int by_name_and_end(const void *x, const void *y)
{
	const struct ending *a = x, *b = y;

	return array_order(a->name, b->name) ?: array_order(a->end_ns, b->end_ns)
	       ?: array_order(a->row, b->row);
}

/* The vote of two rows; NULL without memory. */
static struct vote *find_vote(struct votes *v, uint32_t a, uint32_t b)
{
	uint32_t low = a < b ? a : b, high = a < b ? b : a, hash = fmt_hash_numbers(low, high);
	struct fmt_hash_slot *slot;

	if (fmt_hash_reserve(&v->table) < 0)
		return NULL;
	slot = fmt_hash_find(&v->table, hash, i, v->votes[i].a == low && v->votes[i].b == high);
	if (slot->number)
		return &v->votes[slot->number - 1];
	if (array_reserve(&v->votes, v->n + 1, &v->cap) < 0)
		return NULL;
	v->votes[v->n] = (struct vote){.a = low, .b = high};
	fmt_hash_set(&v->table, slot, hash, (uint32_t)v->n);
	return &v->votes[v->n++];
}

static int64_t smaller_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns 1 if the two can be one collective: both ran when the first ended, and end together. */
static int ends_agree(const struct ending *first, const struct ending *other)
{
	int64_t shorter =
		smaller_of(first->end_ns - first->start_ns, other->end_ns - other->start_ns);
	int64_t within = smaller_of(MOST_NS, shorter / 4);

	if (within < AGREE_NS)
		within = AGREE_NS;
	return other->end_ns - first->end_ns <= within &&
	       other->start_ns <= first->end_ns + 20 * US && first->start_ns <= other->end_ns;
}

/* Compares each collective with those of the same name that end next, one from each row. */
static int count_votes(struct votes *votes, const struct fmt_ends *r, const struct ending *m,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t seen[NEAR], n_seen = 0;

		for (size_t k = i + 1; k < n && k <= i + NEAR && m[k].name == m[i].name &&
				       m[k].end_ns - m[i].end_ns <= MOST_NS;
		     k++) {
			struct vote *vote;
			double us = (double)(m[k].end_ns - m[i].end_ns) / US;
			uint32_t s = 0;

			while (s < n_seen && seen[s] != m[k].row)
				s++;
			if (s < n_seen || m[k].row == m[i].row)
				continue;
			seen[n_seen++] = m[k].row;
			if (r->rows[m[k].row].rank == r->rows[m[i].row].rank ||
			    !ends_agree(&m[i], &m[k]))
				continue;
			vote = find_vote(votes, m[i].row, m[k].row);
			if (!vote)
				return -ENOMEM;
			vote->us[vote->n++ % SAMPLES] = (float)(m[i].row < m[k].row ? us : -us);
		}
	}
	return 0;
}

static void list_endings(const struct fmt_ends *r, struct ending *m)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_rows; i++)
		for (uint32_t k = 0; k < r->rows[i].n; k++) {
			const struct fmt_ends_op *op = &r->ops[r->rows[i].first + k];

			m[n++] = (struct ending){op->start_ns, op->end_ns, op->name, i};
		}
	if (n > 0)
		qsort(m, n, sizeof(*m), by_name_and_end);
}

/* Orders by the distance of the ends: those of another stream's next collective may be equally
 * regular. */
static int by_distance(const void *x, const void *y)
{
	const struct vote *a = x, *b = y;

	return array_order(a->apart, b->apart) ?: array_order(a->a, b->a)
	       ?: array_order(a->b, b->b);
}

static int by_float(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return array_order(x, y);
}

/* Returns the median distance of us[0 .. n) from `from`; sorts `us`. */
static float median_distance(float *us, uint32_t n, float from)
{
	for (uint32_t i = 0; i < n; i++)
		us[i] = us[i] < from ? from - us[i] : us[i] - from;
	qsort(us, n, sizeof(*us), by_float);
	return us[n / 2];
}

/* Medians ignore a few collectives whose ends are far apart. */
static void set_spread(struct vote *v)
{
	uint32_t n = v->n < SAMPLES ? v->n : SAMPLES;
	float us[SAMPLES];

	qsort(v->us, n, sizeof(*v->us), by_float);
	memcpy(us, v->us, n * sizeof(*us));
	v->spread = median_distance(us, n, v->us[n / 2]);
	memcpy(us, v->us, n * sizeof(*us));
	v->apart = median_distance(us, n, 0);
}

static int is_send_recv(const struct fmt_ends *r, uint32_t row)
{
	const char *name = fmt_string(r->names, r->ops[r->rows[row].first].name, NULL);

	return strstr(name, "SendRecv") != NULL;
}

/* The best agreements of a row. */
struct best {
	float spread, part;
};

static void improve_best(struct best *b, float spread, float part)
{
	b->spread = b->part == 0 || spread < b->spread ? spread : b->spread;
	b->part = part > b->part ? part : b->part;
}

/* Returns the median spread between rows and those that agree best with them: the usual difference
 * between ends of one collective. `space` is for a value of each row. */
static float usual_spread(const struct best *best, uint32_t n_rows, float *space)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_rows; i++)
		if (best[i].part > 0)
			space[n++] = best[i].spread;
	qsort(space, n, sizeof(*space), by_float);
	return n > 0 ? space[n / 2] : 0;
}

static int is_as_good(const struct best *b, float usual, const struct vote *v, float part)
{
	const float n = (float)v->n;

	return v->spread <= 2.5F * fmaxf(b->spread, usual) + MORE_US * (1 + FEW / (n * n * n)) &&
	       part >= b->part - LESS;
}

/* Returns the share of the shorter row that agrees; 0 if one row is much longer, unless they are
 * sends and receives. */
static float part_of(const struct fmt_ends *r, const struct vote *v)
{
	uint32_t a = r->rows[v->a].n, b = r->rows[v->b].n;
	uint32_t shorter = a < b ? a : b, longer = a < b ? b : a;

	if (longer > 2 * shorter + EDGE && !is_send_recv(r, v->a))
		return 0;
	return v->n < shorter ? (float)v->n / (float)shorter : 1;
}

/* Lists the votes between unnamed rows that agree often enough, sorted by agreement. */
static size_t list_candidates(const struct fmt_ends *r, const struct votes *votes, struct vote *out,
			      struct best *best)
{
	size_t n = 0;

	for (size_t i = 0; i < votes->n; i++) {
		struct vote v = votes->votes[i];

		v.part = part_of(r, &v);
		if (v.part < (is_send_recv(r, v.a) ? PART : WHOLE) || r->rows[v.a].group ||
		    r->rows[v.b].group)
			continue;
		set_spread(&v);
		improve_best(&best[v.a], v.spread, v.part);
		improve_best(&best[v.b], v.spread, v.part);
		out[n++] = v;
	}
	if (n > 0)
		qsort(out, n, sizeof(*out), by_distance);
	return n;
}

/* Returns true if a set has rows of very different length: of sends and receives, some are then
 * with ranks outside the set. */
static bool is_uneven(const struct fmt_ends *r, const struct fmt_sets *s, uint32_t set)
{
	uint32_t i = set, shortest = UINT32_MAX, longest = 0;

	do {
		shortest = r->rows[i].n < shortest ? r->rows[i].n : shortest;
		longest = r->rows[i].n > longest ? r->rows[i].n : longest;
		i = s->next[i];
	} while (i != set);
	return longest > shortest + EDGE;
}

/* Joins sets of sends and receives that have partners outside the set to the sets that agree best,
 * even if their ends are far apart: ends agree within a pair of ranks, not between pairs. */
static void join_uneven(const struct fmt_ends *r, const struct vote *v, size_t n,
			struct fmt_sets *sets)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t a = root(sets, v[i].a), b = root(sets, v[i].b);

		if (a != b && is_send_recv(r, a) && !share_rank(r, sets, a, b) &&
		    (is_uneven(r, sets, a) || is_uneven(r, sets, b)))
			join_sets(sets, a, b);
	}
}

/* ---- sets that wait for each other ---- */

/* When all rows of a set have begun their k-th operation, and when the first one ends. */
struct meeting {
	int64_t begun_ns, end_ns;
};

static struct meeting meeting_of(const struct fmt_ends *r, const struct fmt_sets *s, uint32_t set,
				 uint32_t k)
{
	struct meeting m = {INT64_MIN, INT64_MAX};
	uint32_t i = set;

	do {
		const struct fmt_ends_op *op = &r->ops[r->rows[i].first + k];

		m.begun_ns = op->start_ns > m.begun_ns ? op->start_ns : m.begun_ns;
		m.end_ns = smaller_of(op->end_ns, m.end_ns);
		i = s->next[i];
	} while (i != set);
	return m;
}

/* Returns true for a set of unnamed sends and receives with `n` operations in each row. */
static bool has_messages(const struct fmt_ends *r, const struct fmt_sets *s, uint32_t set,
			 uint32_t n)
{
	uint32_t i = set;

	do {
		if (r->rows[i].n != n || r->rows[i].group || !is_send_recv(r, i))
			return false;
		i = s->next[i];
	} while (i != set);
	return true;
}

/* The median time from the start of a set's last row to its first end. `space` is for n values. */
static int64_t typical_ns(const struct fmt_ends *r, const struct fmt_sets *s, uint32_t set,
			  uint32_t n, int64_t *space)
{
	for (uint32_t k = 0; k < n; k++) {
		struct meeting m = meeting_of(r, s, set, k);

		space[k] = m.end_ns - m.begun_ns;
	}
	qsort(space, n, sizeof(*space), array_by_i64);
	return space[n / 2];
}

/* Returns true if no operation of one set ends before the same operation of the other has begun. */
static bool always_overlap(const struct fmt_ends *r, const struct fmt_sets *s, uint32_t a,
			   uint32_t b, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		struct meeting x = meeting_of(r, s, a, k), y = meeting_of(r, s, b, k);

		if (x.end_ns < y.begun_ns - APART_NS || y.end_ns < x.begun_ns - APART_NS)
			return false;
	}
	return true;
}

/* Returns true if the operations of two sets overlap although one set had often begun so much
 * earlier that it would have ended: it waited for the other. `space` is for n values. */
static bool wait_for_each_other(const struct fmt_ends *r, const struct fmt_sets *s, uint32_t a,
				uint32_t b, uint32_t n, int64_t *space)
{
	uint32_t waited = 0;
	int64_t most_a, most_b;

	if (!always_overlap(r, s, a, b, n))
		return false;
	most_a = typical_ns(r, s, a, n, space) * 3 / 2 + APART_NS;
	most_b = typical_ns(r, s, b, n, space) * 3 / 2 + APART_NS;
	for (uint32_t k = 0; k < n; k++) {
		int64_t late_ns = meeting_of(r, s, b, k).begun_ns - meeting_of(r, s, a, k).begun_ns;

		waited += late_ns > most_a || -late_ns > most_b;
	}
	return waited >= LEAST_WAITS;
}

/* Joins a row of sends and receives without partner to the only set whose operations always overlap
 * its own: exchanges of parts of different sizes on a slow network, where no rank arrives late
 * enough to show that others wait for it. */
static void join_single(const struct fmt_ends *r, struct fmt_sets *s)
{
	for (uint32_t b = 0; b < r->n_rows; b++) {
		uint32_t n = r->rows[b].n, found = b, n_found = 0;

		if (s->next[b] != b || n < LEAST_OVERLAPS || !has_messages(r, s, b, n))
			continue;
		for (uint32_t a = 0; a < r->n_rows; a++)
			if (root(s, a) == a && a != b && has_messages(r, s, a, n) &&
			    !share_rank(r, s, a, b) && always_overlap(r, s, a, b, n)) {
				found = a;
				n_found++;
			}
		if (n_found == 1)
			join_sets(s, found, b);
	}
}

/* Joins sets of sends and receives that wait for each other: exchanges of parts of different sizes
 * among all ranks, whose ends are far apart. */
static int join_waiting(const struct fmt_ends *r, struct fmt_sets *s)
{
	uint32_t longest = 0;
	scoped(free_ptr) int64_t *space = NULL;

	for (uint32_t i = 0; i < r->n_rows; i++)
		longest = r->rows[i].n > longest ? r->rows[i].n : longest;
	space = malloc((longest + (size_t)1) * sizeof(*space));
	if (!space)
		return -ENOMEM;
	for (uint32_t b = 1; b < r->n_rows; b++) {
		uint32_t n = r->rows[b].n;

		if (root(s, b) != b || n < LEAST_WAITS || !has_messages(r, s, b, n))
			continue;
		for (uint32_t a = 0; a < b && root(s, b) == b; a++) {
			if (root(s, a) != a || !has_messages(r, s, a, n) || share_rank(r, s, a, b))
				continue;
			if (wait_for_each_other(r, s, a, b, n, space))
				join_sets(s, a, b);
		}
	}
	return 0;
}

/* Joins unnamed rows that agree. */
static int join_by_votes(const struct fmt_ends *r, const struct votes *votes, struct fmt_sets *sets)
{
	scoped(free_ptr) struct vote *v = malloc((votes->n + 1) * sizeof(*v));
	scoped(free_ptr) struct best *best = calloc(r->n_rows + (size_t)1, sizeof(*best));
	scoped(free_ptr) float *space = malloc((r->n_rows + (size_t)1) * sizeof(*space));
	float usual;
	size_t n;

	if (!v || !best || !space)
		return -ENOMEM;
	n = list_candidates(r, votes, v, best);
	usual = usual_spread(best, r->n_rows, space);
	for (size_t i = 0; i < n; i++) {
		uint32_t a = root(sets, v[i].a), b = root(sets, v[i].b);
		float least_part = is_send_recv(r, v[i].a) ? 1 : v[i].part;

		if (a != b && is_as_good(&best[v[i].a], usual, &v[i], least_part) &&
		    is_as_good(&best[v[i].b], usual, &v[i], least_part) &&
		    !share_rank(r, sets, a, b))
			join_sets(sets, a, b);
	}
	join_uneven(r, v, n, sets);
	if (join_waiting(r, sets) < 0)
		return -ENOMEM;
	join_single(r, sets);
	return 0;
}

static void join_by_name(const struct fmt_ends *r, struct fmt_sets *sets)
{
	for (uint32_t i = 0; i < r->n_rows; i++)
		for (uint32_t k = 0; k < i && r->rows[i].group; k++)
			if (r->rows[k].group == r->rows[i].group &&
			    r->rows[k].ranks == r->rows[i].ranks) {
				join_sets(sets, root(sets, i), root(sets, k));
				break;
			}
}

static int list_comms(struct fmt_ends *r, struct fmt_sets *sets)
{
	r->members = malloc((r->n_rows + (size_t)1) * sizeof(*r->members));
	if (!r->members)
		return -ENOMEM;
	for (uint32_t i = 0, n = 0; i < r->n_rows; i++) {
		struct fmt_ends_comm c = {.first = n};

		if (root(sets, i) != i)
			continue;
		for (uint32_t k = i; k < r->n_rows; k++)
			if (root(sets, k) == i) {
				r->members[n++] = k;
				r->rows[k].comm = r->n_comms;
			}
		c.n = n - c.first;
		if (array_reserve(&r->comms, r->n_comms + (size_t)1, &r->comms_cap) < 0)
			return -ENOMEM;
		r->comms[r->n_comms++] = c;
	}
	return 0;
}

int fmt_ends_find_comms(struct fmt_ends *r)
{
	scoped(free_ptr) struct ending *m = malloc((r->n_ops + 1) * sizeof(*m));
	scoped(sets_done) struct fmt_sets sets = {0};
	struct votes votes = {0};
	int e;

	if (!m || sets_init(&sets, r->n_rows, r->n_ranks) < 0)
		return -ENOMEM;
	list_endings(r, m);
	join_by_name(r, &sets);
	e = count_votes(&votes, r, m, r->n_ops);
	if (e == 0)
		e = join_by_votes(r, &votes, &sets);
	if (e == 0)
		e = list_comms(r, &sets);
	free(votes.votes);
	fmt_hash_done(&votes.table);
	return e;
}
