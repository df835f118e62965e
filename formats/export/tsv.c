/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/export/tsv.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/export/order.h"
#include "formats/export/plan.h"
#include "formats/value.h"

struct fmt_tsv {
	const struct fmt_names *names;
	struct fmt_plans *plans;
};

int fmt_tsv_new(const struct fmt_names *names, struct fmt_tsv **ret)
{
	scoped(free_ptr) struct fmt_tsv *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return -ENOMEM;
	x->names = names;
	r = fmt_plans_new(names, &x->plans);
	if (r < 0)
		return r;
	*ret = take(x);
	return 0;
}

void fmt_tsv_free(struct fmt_tsv *x)
{
	if (!x)
		return;
	fmt_plans_free(x->plans);
	free(x);
}

/* One rendering of one table of one slice. Rows are appended to `out`; or, with `counting`, only
 * their lengths are added up. */
struct rendering {
	struct fmt_tsv *x;
	const struct fmt_slice *slice;
	enum fmt_table table;
	struct text *out;
	int counting;
	uint64_t length;
};

static const struct fmt_template *template_in(const struct fmt_plan *p, enum fmt_table table)
{
	if (table == FMT_TABLE_MEMORY)
		return p->memory;
	return p->table == (int)table ? p->own : NULL;
}

static const struct fmt_event *event_at(const struct fmt_slice *s, uint64_t index)
{
	return index < s->n_events ? &s->events[index] : &s->ranges[index - s->n_events];
}

static int add_row(struct rendering *n, uint64_t index)
{
	const struct fmt_slice *s = n->slice;
	const struct fmt_event *e = event_at(s, index);
	const struct fmt_site *site = fmt_site(n->x->names, e->site);
	const struct fmt_lane *lane = fmt_lane(n->x->names, s->rank, e->lane);
	const struct fmt_plan *plan;
	int r = fmt_plans_find(n->x->plans, e->site, &plan);

	if (r < 0)
		return r;
	if (!lane || e->first_value > s->n_values || site->n_values > s->n_values - e->first_value)
		return -EBADMSG;

	struct fmt_row row = {
		n->x->names, site, lane, e, fmt_event_values(s, e), s->first_number + index};
	if (n->counting)
		n->length += fmt_template_length(template_in(plan, n->table), &row);
	else
		fmt_template_row(template_in(plan, n->table), &row, n->out);
	return n->counting ? 0 : n->out->error;
}

/* Collects what stands in the table. */
static int select_rows(const struct rendering *n, struct fmt_order *order)
{
	const struct fmt_slice *s = n->slice;
	size_t end = s->n_events + (n->table == FMT_TABLE_MEMORY ? s->n_ranges : 0);

	for (size_t i = 0; i < end; i++) {
		const struct fmt_event *e = event_at(s, i);
		const struct fmt_plan *plan;
		int r = fmt_plans_find(n->x->plans, e->site, &plan);

		if (r == 0 && template_in(plan, n->table))
			r = fmt_order_add(order, e->start_ns, i);
		if (r < 0)
			return r;
	}
	return 0;
}

static int event_rows(struct rendering *n)
{
	scoped(fmt_order_done) struct fmt_order order = {0};
	int r = select_rows(n, &order);

	if (r == 0 && !n->counting)
		r = fmt_order_sort(&order);
	for (size_t i = 0; r == 0 && i < order.n; i++)
		r = add_row(n, order.items[i].index);
	return r;
}

/* The columns of `syncs` that tell about the event that waits. */
static int waiting_fields(struct rendering *n, const struct fmt_event *e, struct text *out)
{
	const struct fmt_names *names = n->x->names;
	const struct fmt_lane *lane = fmt_lane(names, n->slice->rank, e->lane);
	const struct fmt_plan *plan;
	int r = fmt_plans_find(n->x->plans, e->site, &plan);

	if (r < 0)
		return r;
	if (!lane)
		return -EBADMSG;
	text_char(out, '\t');
	text_i64(out, e->start_ns);
	text_char(out, '\t');
	text_i64(out, e->duration_ns);
	text_char(out, '\t');
	fmt_field_id(out, names, lane->text_ids & 1, lane->pid_text, lane->pid);
	text_char(out, '\t');
	fmt_field_id(out, names, lane->text_ids & 2, lane->tid_text, lane->tid);
	text_char(out, '\t');
	text_bytes(out, plan->name, plan->name_len);
	text_char(out, '\t');
	text_u64(out, e->correlation);
	text_str(out, "\t-\n");
	return 0;
}

static int edge_row(struct rendering *n, const struct fmt_edge *edge, struct text *out)
{
	static const char *const kinds[FMT_EDGE_KINDS] = {"\tstart\t", "\treturn\t", "\tspawn\t"};
	const struct fmt_slice *s = n->slice;
	const struct fmt_rule *rule = fmt_rule(n->x->names, edge->rule);
	uint64_t index = edge->to - s->first_number;
	const char *name;
	size_t len;

	if (!rule || edge->kind >= FMT_EDGE_KINDS || index >= s->n_events)
		return -EBADMSG;
	text_str(out, rule->inferred ? "inferred" : "recorded");
	text_str(out, kinds[edge->kind]);
	name = fmt_string(n->x->names, rule->name, &len);
	fmt_field_text(out, name, len, "");
	text_char(out, '\t');
	text_u64(out, edge->from);
	text_char(out, '\t');
	text_u64(out, edge->to);
	text_char(out, '\t');
	text_i64(out, edge->lag_ns);
	return waiting_fields(n, &s->events[index], out);
}

static void put_hex(struct text *out, uint64_t v)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		text_char(out, "0123456789abcdef"[v >> shift & 15]);
}

static int digest_row(struct rendering *n, const struct fmt_digest *d, struct text *out)
{
	text_u64(out, d->op);
	text_str(out, d->output ? "\twritten\t" : "\tread\t");
	text_u64(out, d->allocation);
	text_char(out, '\t');
	text_u64(out, d->offset_bytes);
	text_char(out, '\t');
	text_u64(out, d->length_bytes);
	text_char(out, '\t');
	put_hex(out, d->digest[0]);
	put_hex(out, d->digest[1]);
	text_char(out, '\t');
	text_u64(out, d->n_pages);
	text_char(out, '\n');
	return 0;
}

/* Rows that no template makes: to count them they are made in a scratch text. */
static int plain_rows(struct rendering *n)
{
	scoped(text_done) struct text scratch = {0};
	struct text *out = n->counting ? &scratch : n->out;
	size_t end = n->table == FMT_TABLE_SYNCS ? n->slice->n_edges : n->slice->n_digests;
	int r = 0;

	for (size_t i = 0; r == 0 && i < end; i++) {
		if (n->table == FMT_TABLE_SYNCS)
			r = edge_row(n, &n->slice->edges[i], out);
		else
			r = digest_row(n, &n->slice->digests[i], out);
		if (n->counting) {
			n->length += scratch.len;
			scratch.len = 0;
		}
		if (r == 0)
			r = out->error;
	}
	return r;
}

static int render(struct rendering *n)
{
	int r = event_rows(n);

	if (r == 0 && (n->table == FMT_TABLE_SYNCS || n->table == FMT_TABLE_DIGESTS))
		r = plain_rows(n);
	return r;
}

int fmt_tsv_rows(struct fmt_tsv *x, enum fmt_table table, const struct fmt_slice *slice,
		 struct text *out)
{
	struct rendering n = {.x = x, .slice = slice, .table = table, .out = out};

	return render(&n);
}

int fmt_tsv_lengths(struct fmt_tsv *x, const struct fmt_slice *slice, uint64_t lengths[FMT_TABLES])
{
	uint64_t found[FMT_TABLES];

	for (int i = 0; i < FMT_TABLES; i++) {
		struct rendering n = {
			.x = x, .slice = slice, .table = (enum fmt_table)i, .counting = 1};
		int r = render(&n);

		if (r < 0)
			return r;
		found[i] = n.length;
	}
	memcpy(lengths, found, sizeof(found));
	return 0;
}
