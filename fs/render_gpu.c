/* SPDX-License-Identifier: Apache-2.0 */

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/export/row_template.h"
#include "formats/render/time.h"
#include "fs/render.h"

/* ---- totals by name */

struct total {
	uint8_t kind;
	fmt_str name;
	uint64_t n;
	int64_t sum_ns, shortest_ns, longest_ns;
};

static void add_total(struct total *to, const struct total *t)
{
	if (to->n == 0 || t->shortest_ns < to->shortest_ns)
		to->shortest_ns = t->shortest_ns;
	if (to->n == 0 || t->longest_ns > to->longest_ns)
		to->longest_ns = t->longest_ns;
	fmt_sum_ns(&to->sum_ns, t->sum_ns);
	to->n += t->n;
}

static int add_events(const struct fs_tree *t, const struct fmt_slice *s, struct total *by_template,
		      uint32_t n_templates)
{
	for (size_t i = 0; i < s->n_events; i++) {
		const struct fmt_event *e = &s->events[i];
		const struct fmt_template *template = fmt_template(t->names, e->template);

		if (!template || e->template >= n_templates)
			return -EBADMSG;
		if (template->kind != FMT_KERNEL && template->kind != FMT_COLLECTIVE)
			continue;
		by_template[e->template].kind = template->kind;
		by_template[e->template].name = template->name;
		add_total(&by_template[e->template], &(struct total){.n = 1,
								     .sum_ns = e->duration_ns,
								     .shortest_ns = e->duration_ns,
								     .longest_ns = e->duration_ns});
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	if ((x->n == 0) != (y->n == 0))
		return x->n == 0 ? 1 : -1;
	return array_order(x->kind, y->kind) ?: array_order(x->name, y->name);
}

static int by_sum(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	return array_order(y->sum_ns, x->sum_ns) ?: by_name(a, b);
}

/* Merges the totals of templates with the same name. Returns the number of totals. */
static size_t join_totals(struct total *totals, size_t n)
{
	size_t kept = 0;

	qsort(totals, n, sizeof(*totals), by_name);
	for (size_t i = 0; i < n && totals[i].n > 0; i++) {
		if (kept > 0 && totals[kept - 1].kind == totals[i].kind &&
		    totals[kept - 1].name == totals[i].name)
			add_total(&totals[kept - 1], &totals[i]);
		else
			totals[kept++] = totals[i];
	}
	qsort(totals, kept, sizeof(*totals), by_sum);
	return kept;
}

struct totals {
	struct total *by_template;
	uint32_t n_templates;
};

static int totals_slice(struct fs_tree *t, const struct fmt_slice *s, void *context)
{
	struct totals *totals = context;

	return add_events(t, s, totals->by_template, totals->n_templates);
}

static void put_numbers(struct text *out, const int64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		text_char(out, '\t');
		text_i64(out, numbers[i]);
	}
	text_char(out, '\n');
}

int fs_render_totals(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	uint32_t n = fmt_n_templates(t->names);
	scoped(free_ptr) struct total *by_template = calloc((size_t)n + 1, sizeof(*by_template));
	const struct fmt_part part = fs_tree_part(t, fs_scope_of(where));
	struct totals totals = {by_template, n};
	size_t kept;
	int r;

	if (!by_template)
		return -ENOMEM;
	r = fs_tree_each(t, &part, FMT_WANT_OPS, totals_slice, &totals);
	if (r < 0)
		return r;
	kept = join_totals(by_template, n);
	text_str(out, "name\tkind\tcount\ttotal_ns\tmean_ns\tshortest_ns\tlongest_ns\n");
	for (size_t i = 0; i < kept; i++) {
		const struct total *k = &by_template[i];
		int64_t numbers[] = {(int64_t)k->n, k->sum_ns, k->sum_ns / (int64_t)k->n,
				     k->shortest_ns, k->longest_ns};
		size_t len;
		const char *name = fmt_string(t->names, k->name, &len);

		fmt_field_text(out, name, len, "");
		text_char(out, '\t');
		text_str(out, fmt_kind_name(k->kind));
		put_numbers(out, numbers, 5);
	}
	return 0;
}

/* ---- streams */

struct stream {
	int64_t counts[FMT_KINDS];
	int64_t busy_ns, start_ns, end_ns;
};

struct streams {
	struct stream *by_track;
	uint32_t n_tracks;
};

static int streams_slice(struct fs_tree *t, const struct fmt_slice *s, void *context)
{
	const struct streams *streams = context;

	for (size_t i = 0; i < s->n_events; i++) {
		const struct fmt_event *e = &s->events[i];
		const struct fmt_template *template = fmt_template(t->names, e->template);
		int64_t end_ns = fmt_end_ns(e);
		struct stream *to;

		if (!template || e->track >= streams->n_tracks)
			return -EBADMSG;
		if (!FMT_IS_OP(template->kind))
			continue;
		to = &streams->by_track[e->track];
		if (to->busy_ns == 0 && to->end_ns == 0 && to->start_ns == 0)
			*to = (struct stream){.start_ns = e->start_ns, .end_ns = end_ns};
		to->counts[template->kind]++;
		to->start_ns = e->start_ns < to->start_ns ? e->start_ns : to->start_ns;
		to->end_ns = end_ns > to->end_ns ? end_ns : to->end_ns;
		fmt_sum_ns(&to->busy_ns, e->duration_ns);
	}
	return 0;
}

int fs_render_streams(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	uint32_t n = fmt_n_tracks(t->names, where->gpu);
	scoped(free_ptr) struct stream *by_track = calloc((size_t)n + 1, sizeof(*by_track));
	const struct fmt_part part = fs_tree_part(t, fs_scope_of(where));
	struct streams streams = {by_track, n};
	int r;

	if (!by_track)
		return -ENOMEM;
	r = fs_tree_each(t, &part, FMT_WANT_OPS, streams_slice, &streams);
	if (r < 0)
		return r;
	text_str(out,
		 "device\tstream\tkernels\tmemcpy\tmemset\tcollectives\tbusy_ns\tstart_ns\tend_ns"
		 "\n");
	for (uint32_t i = 0; i < n; i++) {
		const struct fmt_track *track = fmt_track(t->names, where->gpu, i);
		const struct stream *s = &by_track[i];
		int64_t numbers[] = {s->counts[FMT_KERNEL],
				     s->counts[FMT_MEMCPY],
				     s->counts[FMT_MEMSET],
				     s->counts[FMT_COLLECTIVE],
				     s->busy_ns,
				     s->start_ns,
				     s->end_ns};

		if (track->kind != FMT_STREAM ||
		    numbers[0] + numbers[1] + numbers[2] + numbers[3] == 0)
			continue;
		fmt_field_id(out, t->names, track->text_ids & 1, track->pid_text, track->pid);
		text_char(out, '\t');
		fmt_field_id(out, t->names, track->text_ids & 2, track->tid_text, track->tid);
		put_numbers(out, numbers, 7);
	}
	return 0;
}
