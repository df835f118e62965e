/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/tsv.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/export/allocation.h"
#include "formats/render/export/row_template.h"
#include "formats/render/export/time_order.h"
#include "formats/trace/value.h"

#include <pthread.h>
#include <stdatomic.h>

/* The table for the events of a template, and the constant text of its rows. */
struct plan {
	int table;			 /* enum fmt_table, or -1: none */
	struct fmt_row_template *own;	 /* rows in that table */
	struct fmt_row_template *memory; /* its rows in `memory`, or NULL */
	char *name;			 /* as a field */
	size_t name_len;
};

struct fmt_tsv {
	const struct fmt_names *names;
	pthread_mutex_t making;
	uint32_t n;
	struct plan *_Atomic plans[]; /* by template; each is made on first use */
};

static void plan_free(struct plan *p)
{
	if (!p)
		return;
	fmt_row_template_free(p->own);
	fmt_row_template_free(p->memory);
	free(p->name);
	free(p);
}

define_cleanup(plan_freep, struct plan *, plan_free);

int fmt_tsv_new(const struct fmt_names *names, struct fmt_tsv **ret)
{
	uint32_t n = fmt_n_templates(names);
	struct fmt_tsv *x = calloc(1, sizeof(*x) + n * sizeof(x->plans[0]));

	if (!x)
		return -ENOMEM;
	x->names = names;
	x->n = n;
	pthread_mutex_init(&x->making, NULL);
	*ret = x;
	return 0;
}

void fmt_tsv_free(struct fmt_tsv *x)
{
	if (!x)
		return;
	for (uint32_t i = 0; i < x->n; i++)
		plan_free(x->plans[i]);
	pthread_mutex_destroy(&x->making);
	free(x);
}

/* ---- plans */

static int is_memory(const struct fmt_names *names, const struct fmt_template *template)
{
	const char *name = fmt_string(names, template->name, NULL);

	if (template->kind == FMT_CALL)
		return fmt_is_allocation(name);
	return template->kind == FMT_MARK && strstr(name, "emory") != NULL;
}

static int table_of(enum fmt_kind kind)
{
	switch (kind) {
	case FMT_CALL:
		return FMT_TABLE_CALLS;
	case FMT_KERNEL:
		return FMT_TABLE_KERNELS;
	case FMT_MEMCPY:
		return FMT_TABLE_MEMCPY;
	case FMT_MEMSET:
		return FMT_TABLE_MEMSET;
	case FMT_COLLECTIVE:
		return FMT_TABLE_COLLECTIVES;
	case FMT_SYNC:
		return FMT_TABLE_SYNCS;
	default:
		return -1;
	}
}

static int plan_new(const struct fmt_names *names, const struct fmt_template *template,
		    struct plan **ret)
{
	scoped(plan_freep) struct plan *p = calloc(1, sizeof(*p));
	scoped(text_done) struct text name = {0};
	const char *bytes;
	size_t len;
	int r = 0;

	if (!p)
		return -ENOMEM;
	p->table = table_of(template->kind);
	if (p->table >= 0)
		r = fmt_row_template_new(names, template, (enum fmt_table)p->table, &p->own);
	if (r == 0 && is_memory(names, template))
		r = fmt_row_template_new(names, template, FMT_TABLE_MEMORY, &p->memory);
	if (r < 0)
		return r;

	bytes = fmt_string(names, template->name, &len);
	fmt_field_text(&name, bytes, len, "");
	if (name.error)
		return name.error;
	p->name_len = name.len;
	p->name = take(name.data);
	*ret = take(p);
	return 0;
}

/* The plan of a template; -EBADMSG for an invalid template number. */
static int find_plan(struct fmt_tsv *x, uint32_t template, const struct plan **ret)
{
	struct plan *found;
	int r = 0;

	if (template >= x->n)
		return -EBADMSG;
	found = x->plans[template];
	if (!found) {
		pthread_mutex_lock(&x->making);
		found = x->plans[template];
		if (!found)
			r = plan_new(x->names, fmt_template(x->names, template), &found);
		if (r == 0)
			x->plans[template] = found;
		pthread_mutex_unlock(&x->making);
	}
	if (r == 0)
		*ret = found;
	return r;
}

/* ---- rows */

/* One table of one slice, whose rows are appended to `out`. */
struct rendering {
	struct fmt_tsv *x;
	const struct fmt_slice *slice;
	enum fmt_table table;
	struct text *out;
};

static const struct fmt_row_template *template_in(const struct plan *p, enum fmt_table table)
{
	if (table == FMT_TABLE_MEMORY)
		return p->memory;
	return p->table == (int)table ? p->own : NULL;
}

static const struct fmt_event *event_at(const struct fmt_slice *s, uint64_t index)
{
	return index < s->n_events ? &s->events[index] : &s->ranges[index - s->n_events];
}

static int row_of(const struct fmt_tsv *x, const struct fmt_slice *s, uint64_t index,
		  struct fmt_row *ret)
{
	const struct fmt_event *e = event_at(s, index);
	const struct fmt_template *template = fmt_template(x->names, e->template);
	const struct fmt_track *track = fmt_track(x->names, s->rank, e->track);

	if (!track || e->first_value > s->n_values ||
	    template->n_values > s->n_values - e->first_value)
		return -EBADMSG;
	*ret = (struct fmt_row){
		x->names, template, track, e, fmt_event_values(s, e), s->first_number + index};
	return 0;
}

static int add_row(struct rendering *n, uint64_t index)
{
	const struct plan *plan;
	struct fmt_row row;
	int r = find_plan(n->x, event_at(n->slice, index)->template, &plan);

	if (r == 0)
		r = row_of(n->x, n->slice, index, &row);
	if (r < 0)
		return r;
	fmt_row_template_row(template_in(plan, n->table), &row, n->out);
	return n->out->error;
}

/* Collects the events of the table. */
static int select_rows(const struct rendering *n, struct fmt_time_order *order)
{
	const struct fmt_slice *s = n->slice;
	size_t end = s->n_events + (n->table == FMT_TABLE_MEMORY ? s->n_ranges : 0);

	for (size_t i = 0; i < end; i++) {
		const struct fmt_event *e = event_at(s, i);
		const struct plan *plan;
		int r = find_plan(n->x, e->template, &plan);

		if (r == 0 && template_in(plan, n->table))
			r = fmt_time_order_add(order, e->start_ns, i);
		if (r < 0)
			return r;
	}
	return 0;
}

static int event_rows(struct rendering *n)
{
	scoped(fmt_time_order_done) struct fmt_time_order order = {0};
	int r = select_rows(n, &order);

	if (r == 0)
		r = fmt_time_order_sort(&order);
	for (size_t i = 0; r == 0 && i < order.n; i++)
		r = add_row(n, order.items[i].index);
	return r;
}

/* Appends the columns of `syncs` that describe the waiting event. */
static int waiting_fields(struct rendering *n, const struct fmt_event *e, struct text *out)
{
	const struct fmt_names *names = n->x->names;
	const struct fmt_track *track = fmt_track(names, n->slice->rank, e->track);
	const struct plan *plan;
	int r = find_plan(n->x, e->template, &plan);

	if (r < 0)
		return r;
	if (!track)
		return -EBADMSG;
	text_char(out, '\t');
	text_i64(out, e->start_ns);
	text_char(out, '\t');
	text_i64(out, e->duration_ns);
	text_char(out, '\t');
	fmt_field_id(out, names, track->text_ids & 1, track->pid_text, track->pid);
	text_char(out, '\t');
	fmt_field_id(out, names, track->text_ids & 2, track->tid_text, track->tid);
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
	if (edge->rank != 0)
		text_printf(out, "%+d:", edge->rank);
	text_u64(out, edge->from);
	text_char(out, '\t');
	text_u64(out, edge->to);
	text_char(out, '\t');
	text_i64(out, edge->lag_ns);
	return waiting_fields(n, &s->events[index], out);
}

void fmt_tsv_digest_buffer(const struct fmt_digest *d, struct text *out)
{
	text_u64(out, d->op);
	text_printf(out, "\t%s\t", fmt_access_name(d->access));
	text_u64(out, d->allocation);
	text_char(out, '\t');
	text_u64(out, d->offset_bytes);
	text_char(out, '\t');
	text_u64(out, d->length_bytes);
}

static void put_hex(struct text *out, uint64_t v)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		text_char(out, "0123456789abcdef"[v >> shift & 15]);
}

static int digest_row(struct rendering *n, const struct fmt_digest *d, struct text *out)
{
	fmt_tsv_digest_buffer(d, out);
	text_char(out, '\t');
	put_hex(out, d->digest[0]);
	put_hex(out, d->digest[1]);
	text_char(out, '\t');
	text_u64(out, d->n_pages);
	text_char(out, '\n');
	return 0;
}

/* Appends rows that have no template. */
static int plain_rows(struct rendering *n)
{
	int syncs = n->table == FMT_TABLE_SYNCS, r = 0;
	size_t end = syncs ? n->slice->n_edges : n->slice->n_digests;

	for (size_t i = 0; r == 0 && i < end; i++) {
		if (syncs)
			r = edge_row(n, &n->slice->edges[i], n->out);
		else
			r = digest_row(n, &n->slice->digests[i], n->out);
		if (r == 0)
			r = n->out->error;
	}
	return r;
}

int fmt_tsv_rows(struct fmt_tsv *x, enum fmt_table table, const struct fmt_slice *slice,
		 struct text *out)
{
	struct rendering n = {.x = x, .slice = slice, .table = table, .out = out};
	int r = event_rows(&n);

	if (r == 0 && (table == FMT_TABLE_SYNCS || table == FMT_TABLE_DIGESTS))
		r = plain_rows(&n);
	return r;
}

/* ---- lengths ----------------------------------------------------------------------------- */

/* Rows are made in a scratch text, which is emptied now and then. */
static int empty_scratch(struct text *scratch)
{
	return 0;
}

static uint64_t row_length(const struct fmt_row_template *m, const struct fmt_row *row,
			   struct text *scratch)
{
	scratch->len = 0;
	fmt_row_template_row(m, row, scratch);
	return scratch->len;
}

/* Counts the rows of an event in the tables that contain it. */
static int count_event(struct fmt_tsv *x, const struct fmt_slice *s, uint64_t index,
		       struct text *scratch, uint64_t *lengths)
{
	const struct fmt_row_template *own;
	const struct plan *plan;
	struct fmt_row row;
	int r = find_plan(x, event_at(s, index)->template, &plan);

	if (r < 0)
		return r;
	own = index < s->n_events ? plan->own : NULL;
	if (!own && !plan->memory)
		return 0;
	r = row_of(x, s, index, &row);
	if (r < 0)
		return r;
	if (own)
		lengths[plan->table] += row_length(own, &row, scratch);
	if (plan->memory)
		lengths[FMT_TABLE_MEMORY] += row_length(plan->memory, &row, scratch);
	return scratch->error;
}

static int count_plain(struct fmt_tsv *x, const struct fmt_slice *slice, enum fmt_table table,
		       uint64_t *lengths)
{
	scoped(text_done) struct text scratch = {.limit = 1 << 16, .flush = empty_scratch};
	struct rendering n = {.x = x, .slice = slice, .table = table, .out = &scratch};
	int r = plain_rows(&n);

	lengths[table] += scratch.flushed + scratch.len;
	return r;
}

int fmt_tsv_lengths(struct fmt_tsv *x, const struct fmt_slice *slice, uint64_t lengths[FMT_TABLES])
{
	scoped(text_done) struct text scratch = {0};
	uint64_t found[FMT_TABLES] = {0};
	int r = 0;

	for (size_t i = 0; i < slice->n_events + slice->n_ranges && r == 0; i++)
		r = count_event(x, slice, i, &scratch, found);
	if (r == 0)
		r = count_plain(x, slice, FMT_TABLE_SYNCS, found);
	if (r == 0)
		r = count_plain(x, slice, FMT_TABLE_DIGESTS, found);
	if (r == 0)
		memcpy(lengths, found, sizeof(found));
	return r;
}
