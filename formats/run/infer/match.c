/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/match.h"

#include "base/array.h"
#include "base/scope.h"

#define US INFER_US
#define AGREE_NS (300 * US) /* ends of a send and its receive */
#define MOST_NS (5000 * US) /* ends of one collective of a communicator in which all take part */

/* A rank's next collective on a communicator. */
struct head {
	int64_t start_ns, end_ns;
	uint32_t view, op;
	fmt_str name;
};

struct merge {
	const struct infer_rows *rows;
	const struct infer_view *views;
	const int64_t *offset_ns;
	struct head *heads; /* of the communicator's rows; op is INFER_NONE where a row has ended */
	uint32_t *at;	    /* how far each row is */
	struct infer_match *out;
	size_t n_out;
};

static void next(struct merge *m, uint32_t row, struct head *h, uint32_t *at)
{
	const struct infer_row *r = &m->rows->rows[row];
	const struct infer_view *v = &m->views[r->view];
	const struct infer_op *op;

	h->view = r->view;
	h->op = INFER_NONE;
	if (*at >= r->n)
		return;
	h->op = m->rows->ops[r->first + *at];
	op = &v->ops[h->op];
	h->start_ns = op->start_ns - m->offset_ns[r->view];
	h->end_ns = op->end_ns - m->offset_ns[r->view];
	h->name = infer_kernel_name(v, op);
	++*at;
}

/* Both must have run when the first of them ended, for a good part of the shorter one's time. */
static int meets(const struct head *first, const struct head *other, int pairs)
{
	int64_t a = first->end_ns - first->start_ns, b = other->end_ns - other->start_ns;
	int64_t shorter = a < b ? a : b, later = other->end_ns - first->end_ns;

	if (first->view == other->view || first->name != other->name ||
	    other->start_ns > first->end_ns - shorter / 2 + 20 * US)
		return 0;
	if (pairs)
		return later <= (shorter / 2 > AGREE_NS ? shorter / 2 : AGREE_NS);
	return later <= (shorter / 2 > MOST_NS ? shorter / 2 : MOST_NS);
}

/* How far apart two began: of the ranks that end an exchange at the same moment, those that began
 * together rather wait for the same other rank than for each other. */
static int64_t apart(const struct head *a, const struct head *b)
{
	return a->start_ns > b->start_ns ? a->start_ns - b->start_ns : b->start_ns - a->start_ns;
}

static void put(struct merge *m, const struct head *h, uint32_t comm, int64_t seq)
{
	m->out[m->n_out++] = (struct infer_match){h->view, h->op, comm, seq};
}

/* One collective: the head that ends first, and those that meet it; of sends and receives the one
 * that began at the most different time. */
static int merge_one(struct merge *m, uint32_t comm, int64_t seq)
{
	const struct infer_comm *c = &m->rows->comms[comm];
	const uint32_t *members = m->rows->members + c->first;
	uint32_t first = INFER_NONE, partner = INFER_NONE;

	for (uint32_t i = 0; i < c->n; i++)
		if (m->heads[i].op != INFER_NONE &&
		    (first == INFER_NONE || m->heads[i].end_ns < m->heads[first].end_ns))
			first = i;
	if (first == INFER_NONE)
		return 0;
	for (uint32_t i = 0; i < c->n; i++) {
		if (i == first || m->heads[i].op == INFER_NONE ||
		    !meets(&m->heads[first], &m->heads[i], c->pairs))
			continue;
		if (!c->pairs) {
			put(m, &m->heads[i], comm, seq);
			next(m, members[i], &m->heads[i], &m->at[i]);
		} else if (partner == INFER_NONE ||
			   apart(&m->heads[first], &m->heads[i]) >
				   apart(&m->heads[first], &m->heads[partner])) {
			partner = i;
		}
	}
	if (partner != INFER_NONE) {
		put(m, &m->heads[partner], comm, seq);
		next(m, members[partner], &m->heads[partner], &m->at[partner]);
	}
	put(m, &m->heads[first], comm, seq);
	next(m, members[first], &m->heads[first], &m->at[first]);
	return 1;
}

static int by_view_and_op(const void *a, const void *b)
{
	const struct infer_match *x = a, *y = b;

	return array_order(x->view, y->view) ?: array_order(x->op, y->op);
}

/* What the recorder numbered itself, rising on each stream: all of the communicator, or nothing of
 * it. */
static int take_recorded(struct merge *m, uint32_t comm)
{
	const struct infer_comm *c = &m->rows->comms[comm];
	size_t before = m->n_out;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct infer_row *row = &m->rows->rows[m->rows->members[c->first + i]];
		const struct infer_view *v = &m->views[row->view];
		int64_t last = -1, seq;

		for (uint32_t k = 0; k < row->n; k++, last = seq) {
			struct head h = {.view = row->view, .op = m->rows->ops[row->first + k]};
			uint32_t event = v->ops[h.op].event;
			int64_t known;

			if (!infer_argument(v, event, FMT_KEY_COMM, &known) || known < 0 ||
			    !infer_argument(v, event, FMT_KEY_SEQ, &seq) || seq <= last) {
				m->n_out = before;
				return 0;
			}
			put(m, &h, comm, seq);
		}
	}
	return 1;
}

static int by_collective(const void *x, const void *y)
{
	const struct infer_match *a = x, *b = y;

	return array_order(a->comm, b->comm) ?: array_order(a->seq, b->seq)
	       ?: array_order(a->view, b->view);
}

struct infer_match *infer_match_by_collective(const struct infer_match *m, size_t n)
{
	struct infer_match *sorted = malloc((n + 1) * sizeof(*sorted));

	if (sorted && n > 0) {
		memcpy(sorted, m, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_collective);
	}
	return sorted;
}

int infer_match_all(const struct infer_rows *rows, const struct infer_view *views,
		    const int64_t *offset_ns, struct infer_match **ret)
{
	scoped(free_ptr) struct head *heads = malloc((rows->n_rows + (size_t)1) * sizeof(*heads));
	scoped(free_ptr) uint32_t *at = malloc((rows->n_rows + (size_t)1) * sizeof(*at));
	scoped(free_ptr) struct infer_match *out = malloc((rows->n_ops + 1) * sizeof(*out));
	struct merge m = {.rows = rows,
			  .views = views,
			  .offset_ns = offset_ns,
			  .heads = heads,
			  .at = at,
			  .out = out};

	if (!heads || !at || !out)
		return -ENOMEM;
	for (uint32_t c = 0; c < rows->n_comms; c++) {
		const struct infer_comm *comm = &rows->comms[c];

		if (take_recorded(&m, c))
			continue;
		for (uint32_t i = 0; i < comm->n; i++) {
			at[i] = 0;
			next(&m, rows->members[comm->first + i], &heads[i], &at[i]);
		}
		for (int64_t seq = 0; merge_one(&m, c, seq); seq++)
			;
	}
	if (m.n_out > 0)
		qsort(out, m.n_out, sizeof(*out), by_view_and_op);
	*ret = take(out);
	return 0;
}
