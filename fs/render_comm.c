/* SPDX-License-Identifier: Apache-2.0 */

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/bandwidth.h"
#include "formats/render/export/row_template.h"
#include "formats/render/report/instances.h"
#include "formats/render/time.h"
#include "formats/trace/store/part.h"
#include "fs/render.h"

static void put_string(struct text *out, const struct fmt_names *names, fmt_str s)
{
	size_t len;
	const char *bytes = fmt_string(names, s, &len);

	if (len == 0)
		text_char(out, '-');
	else
		fmt_field_text(out, bytes, len, "");
}

int fs_render_comm_ranks(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	const struct fmt_comm *comm = fmt_comm(t->names, where->iteration);

	text_str(out, "rank\trecorded\tcommunicator\tdescription\n");
	for (uint32_t i = 0; i < comm->n_ranks; i++) {
		text_u64(out, comm->ranks[i]);
		text_str(out, fmt_rank_index(t->trace, comm->ranks[i]) >= 0 ? "\tyes\t" : "\tno\t");
		put_string(out, t->names, comm->name);
		text_char(out, '\t');
		put_string(out, t->names, comm->description);
		text_char(out, '\n');
	}
	return 0;
}

/* ---- collectives over all ranks */

/* A participant: the operation of one rank in a collective. */
struct part {
	int64_t seq, iteration;
	int64_t start_ns, duration_ns;
	uint32_t rank, template;
};

struct parts {
	struct part *items;
	size_t n, cap;
};

static void parts_done(struct parts *p)
{
	free(p->items);
}

static int add_slice(struct fs_tree *t, const struct fmt_slice *s, int64_t comm,
		     struct parts *parts)
{
	for (size_t i = 0; i < s->n_events; i++) {
		const struct fmt_event *e = &s->events[i];
		const struct fmt_template *template = fmt_template(t->names, e->template);

		if (!template)
			return -EBADMSG;
		if (template->kind != FMT_COLLECTIVE || template->n_values < 2)
			continue;
		if (e->first_value > s->n_values ||
		    s->n_values - e->first_value < template->n_values)
			return -EBADMSG;
		if (s->values[e->first_value + FMT_COLLECTIVE_COMM] != comm)
			continue;
		if (array_reserve(&parts->items, parts->n + 1, &parts->cap) < 0)
			return -ENOMEM;
		parts->items[parts->n++] = (struct part){
			.seq = s->values[e->first_value + FMT_COLLECTIVE_SEQ],
			.iteration = s->iteration.number,
			.start_ns = e->start_ns,
			.duration_ns = e->duration_ns,
			.rank = s->rank,
			.template = e->template,
		};
	}
	return 0;
}

static int add_rank(struct fs_tree *t, uint32_t rank, int64_t comm, struct parts *parts)
{
	uint32_t n = fmt_trace_rank(t->trace, rank)->n_slices;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct fmt_slice *s;

		if (fmt_trace_slice(t->trace, rank, i)->n_records[FMT_COLLECTIVE] == 0)
			continue;
		r = fmt_slice_load(t->trace, rank, i, FMT_WANT_OPS, &s, NULL);
		if (r < 0)
			return r;
		r = add_slice(t, s, comm, parts);
		fmt_slice_free(s);
	}
	return r;
}

static int is_member(const struct fmt_comm *comm, uint32_t rank)
{
	uint32_t from = 0, end = comm->n_ranks;

	while (from < end) {
		uint32_t middle = from + (end - from) / 2;

		if (comm->ranks[middle] < rank)
			from = middle + 1;
		else
			end = middle;
	}
	return comm->n_ranks == 0 || (from < comm->n_ranks && comm->ranks[from] == rank);
}

static int by_seq(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return array_order(x->seq, y->seq) ?: array_order(x->rank, y->rank)
	       ?: array_order(x->start_ns, y->start_ns);
}

static void put_int(struct text *out, int64_t v, int known)
{
	text_char(out, '\t');
	if (known)
		text_i64(out, v);
	else
		text_char(out, '-');
}

/* The participant with the most information about the collective. */
static const struct part *most_told(struct fs_tree *t, const struct part *p, size_t n)
{
	const struct part *best = p;

	for (size_t i = 1; i < n; i++)
		if (p[i].template != best->template &&
		    fmt_collective_detail(t->names, p[i].template) >
			    fmt_collective_detail(t->names, best->template))
			best = &p[i];
	return best;
}

static void put_template(struct fs_tree *t, const struct part *p, struct text *out)
{
	const struct fmt_template *template = fmt_template(t->names, p->template);

	text_i64(out, p->seq);
	put_int(out, p->iteration, p->iteration != FMT_BEFORE && p->iteration != FMT_AFTER);
	if (template->n_args < FMT_COLLECTIVE_ARGS) {
		text_str(out, "\t-\t-\t-");
		return;
	}
	text_char(out, '\t');
	put_string(out, t->names, (fmt_str) template->args[FMT_COLLECTIVE_OP].value);
	text_char(out, '\t');
	put_string(out, t->names, (fmt_str) template->args[FMT_COLLECTIVE_DTYPE].value);
	put_int(out, template->args[FMT_COLLECTIVE_BYTES].value,
		template->args[FMT_COLLECTIVE_BYTES].value >= 0);
}

/* The bandwidths of a collective with a transfer time of `ns`. */
static void put_bandwidth(struct fs_tree *t, const struct part *p, int64_t comm, int64_t ns,
			  struct text *out)
{
	const struct fmt_template *template = fmt_template(t->names, p->template);
	struct fmt_bandwidth b = {-1, -1};

	if (template->n_args >= FMT_COLLECTIVE_ARGS)
		b = fmt_bandwidth(fmt_string(t->names,
					     (fmt_str) template->args[FMT_COLLECTIVE_OP].value,
					     NULL),
				  fmt_comm_size(t->trace, comm, template),
				  template->args[FMT_COLLECTIVE_BYTES].value, ns);
	put_int(out, (int64_t)b.algorithm, b.algorithm >= 0 && b.algorithm < 1e18);
	put_int(out, (int64_t)b.bus, b.bus >= 0 && b.bus < 1e18);
}

/* Writes one collective of communicator `comm` with n participants. */
static void put_collective(struct fs_tree *t, const struct part *p, size_t n, int64_t comm,
			   struct text *out)
{
	int64_t first = INT64_MAX, last = INT64_MIN, end = INT64_MIN;
	int64_t shortest = INT64_MAX, waited = 0;
	uint32_t latest = p->rank;
	const struct part *told = most_told(t, p, n);

	for (size_t i = 0; i < n; i++) {
		if (p[i].start_ns > last)
			latest = p[i].rank;
		first = p[i].start_ns < first ? p[i].start_ns : first;
		last = p[i].start_ns > last ? p[i].start_ns : last;
		end = fmt_add_ns(p[i].start_ns, p[i].duration_ns) > end
			      ? fmt_add_ns(p[i].start_ns, p[i].duration_ns)
			      : end;
		shortest = p[i].duration_ns < shortest ? p[i].duration_ns : shortest;
	}
	for (size_t i = 0; i < n; i++)
		waited = fmt_add_ns(waited, p[i].duration_ns - shortest);
	put_template(t, told, out);
	put_int(out, (int64_t)n, 1);
	put_int(out, first, 1);
	put_int(out, last, 1);
	put_int(out, end, 1);
	put_int(out, shortest, 1);
	put_int(out, waited, 1);
	put_int(out, fmt_trace_rank(t->trace, latest)->number, 1);
	text_char(out, '\t');
	put_string(out, t->names, fmt_template(t->names, p->template)->name);
	put_bandwidth(t, told, comm, shortest, out);
	text_char(out, '\n');
}

int fs_render_comm_collectives(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	const struct fmt_comm *comm = fmt_comm(t->names, where->iteration);
	scoped(parts_done) struct parts parts = {0};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->n_ranks; i++)
		if (is_member(comm, fmt_trace_rank(t->trace, i)->number))
			r = add_rank(t, i, where->iteration, &parts);
	if (r < 0)
		return r;
	if (parts.n > 0)
		qsort(parts.items, parts.n, sizeof(*parts.items), by_seq);
	text_str(out, "sequence\titeration\tcollective\tdtype\tbytes\tranks\tfirst_start_ns\t"
		      "last_start_ns\tend_ns\tshortest_ns\twaited_ns\tlast_rank\tname\t"
		      "algbw_bytes_per_s\tbusbw_bytes_per_s\n");
	for (size_t i = 0, n; i < parts.n; i += n) {
		n = 1;
		while (i + n < parts.n && parts.items[i + n].seq == parts.items[i].seq)
			n++;
		put_collective(t, &parts.items[i], n, where->iteration, out);
	}
	return 0;
}
