/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/collectives/by_ends.h"

#include "base/array.h"
#include "base/scope.h"

#include <stdbool.h>

#define US 1000		    /* in ns */
#define AGREE_NS (300 * US) /* ends of a send and its receive */
#define MEET_NS (15 * US)   /* the same, if their clocks agree */
#define MOST_NS (5000 * US) /* between ends of one collective with all ranks */
#define NONE UINT32_MAX
#define PASSES 4	 /* over messages, to find their usual partners */
#define USUAL 4		 /* times as many messages as with another partner */
#define MOST_MEMBERS 512 /* of communicators whose usual partners are counted */

/* A row's next operation. */
struct head {
	int64_t start_ns, end_ns;
	uint32_t rank, op; /* NONE: end of the row */
	fmt_str name;
	uint8_t kind;
};

struct merge {
	const struct fmt_ends *ends;
	struct head *heads;    /* of the communicator's rows */
	uint32_t *n_processed; /* operations of each row */
	uint8_t pairs;	       /* enum fmt_ends_kind: this and lower ones are matched in pairs */
	/* By two members of the communicator: messages between them; NULL: not counted. `usual`: as
	 * found in an earlier pass. */
	uint32_t *counted, *usual;
	struct fmt_participation *out;
	size_t n_out;
};

void fmt_ends_done(struct fmt_ends *e)
{
	free(e->rows);
	free(e->ops);
	free(e->comms);
	free(e->members);
	*e = (struct fmt_ends){0};
}

static void take_next(struct merge *m, uint32_t row, struct head *h, uint32_t *n_processed)
{
	const struct fmt_ends_row *r = &m->ends->rows[row];
	const struct fmt_ends_op *op = &m->ends->ops[r->first + *n_processed];

	if (*n_processed >= r->n) {
		h->op = NONE;
		return;
	}
	*h = (struct head){op->start_ns, op->end_ns, r->rank, op->op, op->name, op->kind};
	++*n_processed;
}

/* Returns 1 if both were running when the first of them ended, for a good part of the shorter one's
 * time. */
static int ops_overlap(const struct head *first, const struct head *other)
{
	int64_t a = first->end_ns - first->start_ns, b = other->end_ns - other->start_ns;
	int64_t shorter = a < b ? a : b, later = other->end_ns - first->end_ns;

	if (first->rank == other->rank || first->name != other->name ||
	    other->start_ns > first->end_ns - shorter / 2 + 20 * US)
		return 0;
	if (first->kind != FMT_ENDS_COLLECTIVE)
		return later <= (shorter / 2 > AGREE_NS ? shorter / 2 : AGREE_NS);
	return later <= (shorter / 2 > MOST_NS ? shorter / 2 : MOST_NS);
}

/* Returns true if member `a` is a better partner of `first` in a send and receive than `b`: it ends
 * when `first` does; of several, it is the usual partner, or began at the most different time.
 * Ranks that begin and end an exchange together more likely wait for a common third rank than for
 * each other. `n`: members. */
static bool is_nearer(const struct merge *m, uint32_t n, uint32_t first, uint32_t a, uint32_t b)
{
	const struct head *h = m->heads;
	bool a_meets = h[a].end_ns - h[first].end_ns <= MEET_NS;
	bool b_meets = h[b].end_ns - h[first].end_ns <= MEET_NS;

	if (a_meets != b_meets)
		return a_meets;
	if (m->usual) {
		uint32_t of_a = m->usual[first * n + a], of_b = m->usual[first * n + b];

		if (of_a > USUAL * of_b || of_b > USUAL * of_a)
			return of_a > of_b;
	}
	return llabs(h[a].start_ns - h[first].start_ns) > llabs(h[b].start_ns - h[first].start_ns);
}

static void append_participation(struct merge *m, uint32_t rank, uint32_t op, uint32_t comm,
				 int64_t seq)
{
	m->out[m->n_out++] = (struct fmt_participation){rank, op, comm, seq};
}

/* Finds one collective: the head that ends first, and the matching heads; for sends and receives
 * only the one with the most different start. */
static int merge_collective(struct merge *m, uint32_t comm, int64_t seq)
{
	const struct fmt_ends_comm *c = &m->ends->comms[comm];
	const uint32_t *members = m->ends->members + c->first;
	uint32_t first = NONE, partner = NONE;
	bool pairs;

	for (uint32_t i = 0; i < c->n; i++)
		if (m->heads[i].op != NONE &&
		    (first == NONE || m->heads[i].end_ns < m->heads[first].end_ns))
			first = i;
	if (first == NONE)
		return 0;
	pairs = c->n > 2 && m->heads[first].kind != FMT_ENDS_COLLECTIVE &&
		m->heads[first].kind <= m->pairs;
	for (uint32_t i = 0; i < c->n; i++) {
		if (i == first || m->heads[i].op == NONE ||
		    !ops_overlap(&m->heads[first], &m->heads[i]))
			continue;
		if (!pairs) {
			append_participation(m, m->heads[i].rank, m->heads[i].op, comm, seq);
			take_next(m, members[i], &m->heads[i], &m->n_processed[i]);
		} else if (partner == NONE || is_nearer(m, c->n, first, i, partner)) {
			partner = i;
		}
	}
	if (partner != NONE && m->counted) {
		m->counted[first * c->n + partner]++;
		m->counted[partner * c->n + first]++;
	}
	if (partner != NONE) {
		append_participation(m, m->heads[partner].rank, m->heads[partner].op, comm, seq);
		take_next(m, members[partner], &m->heads[partner], &m->n_processed[partner]);
	}
	append_participation(m, m->heads[first].rank, m->heads[first].op, comm, seq);
	take_next(m, members[first], &m->heads[first], &m->n_processed[first]);
	return 1;
}

static int by_rank_and_op(const void *a, const void *b)
{
	const struct fmt_participation *x = a, *y = b;

	return array_order(x->rank, y->rank) ?: array_order(x->op, y->op);
}

/* Uses the recorded numbers, if all operations of the communicator have one and they ascend on each
 * row; else does nothing and returns 0. */
static int take_recorded(struct merge *m, uint32_t comm)
{
	const struct fmt_ends_comm *c = &m->ends->comms[comm];
	size_t before = m->n_out;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct fmt_ends_row *row = &m->ends->rows[m->ends->members[c->first + i]];
		int64_t last = -1;

		for (uint32_t k = 0; k < row->n; k++) {
			const struct fmt_ends_op *op = &m->ends->ops[row->first + k];

			if (op->seq <= last) {
				m->n_out = before;
				return 0;
			}
			append_participation(m, row->rank, op->op, comm, op->seq);
			last = op->seq;
		}
	}
	return 1;
}

/* Returns true if the collectives of a communicator can be matched by their order alone: the
 * process group was recorded, all ranks participate each time, and no rank has several rows. */
static bool is_ordered(const struct fmt_ends *e, const struct fmt_ends_comm *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct fmt_ends_row *row = &e->rows[e->members[c->first + i]];

		if (!row->group || (c->n > 2 && e->ops[row->first].kind != FMT_ENDS_COLLECTIVE) ||
		    (i > 0 && row->rank == e->rows[e->members[c->first + i - 1]].rank))
			return false;
	}
	return true;
}

/* Matches collectives by their order, if possible; else does nothing and returns 0. */
static int match_order(struct merge *m, uint32_t comm)
{
	const struct fmt_ends *e = m->ends;
	const struct fmt_ends_comm *c = &e->comms[comm];
	const uint32_t *members = e->members + c->first;
	size_t before = m->n_out;
	int64_t lowest = 0;

	if (!is_ordered(e, c))
		return 0;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct fmt_ends_row *row = &e->rows[members[i]];
		struct fmt_sequence agree = {0};

		if (i > 0 && !fmt_sequences_compare(e, &e->rows[members[0]], row, &agree)) {
			m->n_out = before;
			return 0;
		}
		lowest = -agree.shift < lowest ? -agree.shift : lowest;
		for (uint32_t k = 0; k < row->n; k++)
			append_participation(m, row->rank, e->ops[row->first + k].op, comm,
					     k - agree.shift);
	}
	for (size_t i = before; i < m->n_out; i++)
		m->out[i].seq -= lowest;
	return 1;
}

static int by_collective(const void *x, const void *y)
{
	const struct fmt_participation *a = x, *b = y;

	return array_order(a->comm, b->comm) ?: array_order(a->seq, b->seq)
	       ?: array_order(a->rank, b->rank);
}

struct fmt_participation *fmt_participations_sort(const struct fmt_participation *p, size_t n)
{
	struct fmt_participation *sorted = malloc((n + 1) * sizeof(*sorted));

	if (sorted && n > 0) {
		memcpy(sorted, p, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_collective);
	}
	return sorted;
}

size_t fmt_participations_end(const struct fmt_participation *p, size_t first, size_t n)
{
	size_t end = first;

	while (end < n && p[end].comm == p[first].comm && p[end].seq == p[first].seq)
		end++;
	return end;
}

/* Returns true if only times show whether all ranks of the communicator participate each time. */
static bool may_be_messages(const struct fmt_ends *e, const struct fmt_ends_comm *c)
{
	const struct fmt_ends_row *row = &e->rows[e->members[c->first]];

	return c->n > 2 && e->ops[row->first].kind == FMT_ENDS_EITHER;
}

/* Numbers the collectives of a communicator. Returns their number. */
static int64_t merge_comm(struct merge *m, uint32_t comm, enum fmt_ends_kind pairs)
{
	const struct fmt_ends_comm *c = &m->ends->comms[comm];
	int64_t seq = 0;

	m->pairs = (uint8_t)pairs;
	for (uint32_t i = 0; i < c->n; i++) {
		m->n_processed[i] = 0;
		take_next(m, m->ends->members[c->first + i], &m->heads[i], &m->n_processed[i]);
	}
	while (merge_collective(m, comm, seq))
		seq++;
	return seq;
}

/* Numbers the sends and receives of a communicator in several passes. Each pass uses the usual
 * partners that the previous pass has found. */
static int merge_messages(struct merge *m, uint32_t comm, enum fmt_ends_kind pairs)
{
	const struct fmt_ends_comm *c = &m->ends->comms[comm];
	size_t n = c->n > 2 && c->n <= MOST_MEMBERS ? (size_t)c->n * c->n : 0, first = m->n_out;
	scoped(free_ptr) uint32_t *counts = n ? calloc(n, PASSES * sizeof(*counts)) : NULL;

	if (n && !counts)
		return -ENOMEM;
	for (size_t i = 0; i < (n ? PASSES : 1); i++) {
		m->n_out = first;
		m->usual = i > 0 ? counts + (i - 1) * n : NULL;
		m->counted = n ? counts + i * n : NULL;
		merge_comm(m, comm, pairs);
	}
	m->usual = m->counted = NULL;
	return 0;
}

int fmt_collectives_match_by_ends(const struct fmt_ends *e, struct fmt_participation **ret)
{
	scoped(free_ptr) struct head *heads = malloc((e->n_rows + (size_t)1) * sizeof(*heads));
	scoped(free_ptr) uint32_t *n_processed =
		malloc((e->n_rows + (size_t)1) * sizeof(*n_processed));
	scoped(free_ptr) struct fmt_participation *out = malloc((e->n_ops + 1) * sizeof(*out));
	struct merge m = {.ends = e, .heads = heads, .n_processed = n_processed, .out = out};

	if (!heads || !n_processed || !out)
		return -ENOMEM;
	for (uint32_t c = 0; c < e->n_comms; c++) {
		const struct fmt_ends_comm *comm = &e->comms[c];
		size_t first;
		int64_t n;

		if (take_recorded(&m, c) || match_order(&m, c))
			continue;
		first = m.n_out;
		if (e->ops[e->rows[e->members[comm->first]].first].kind == FMT_ENDS_MESSAGE) {
			if (merge_messages(&m, c, FMT_ENDS_MESSAGE) < 0)
				return -ENOMEM;
			continue;
		}
		n = merge_comm(&m, c, FMT_ENDS_MESSAGE);
		if (may_be_messages(e, comm) && (m.n_out - first) * 4 < (size_t)n * comm->n * 3) {
			m.n_out = first;
			if (merge_messages(&m, c, FMT_ENDS_EITHER) < 0)
				return -ENOMEM;
		}
	}
	if (m.n_out > 0)
		qsort(out, m.n_out, sizeof(*out), by_rank_and_op);
	*ret = take(out);
	return 0;
}
