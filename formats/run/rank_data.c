/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/rank_data.h"

#include "base/array.h"

void fmt_rank_data_done(struct fmt_rank_data *p)
{
	free(p->call_of);
	free(p->ranges);
	free(p->digests);
	free(p->pages);
	*p = (struct fmt_rank_data){0};
}

static int by_track(const void *a, const void *b)
{
	const struct fmt_event *e = a, *f = b;

	return array_order(e->track, f->track) ?: array_order(e->start_ns, f->start_ns)
	       ?: array_order(f->duration_ns, e->duration_ns)
	       ?: array_order(e->template, f->template);
}

static int by_start(const void *a, const void *b)
{
	const struct fmt_event *e = a, *f = b;

	return array_order(e->start_ns, f->start_ns) ?: by_track(a, b);
}

static int compare_digests(const void *a, const void *b)
{
	const struct fmt_digest *x = &((const struct fmt_run_digest *)a)->digest;
	const struct fmt_digest *y = &((const struct fmt_run_digest *)b)->digest;

	return array_order(x->op, y->op) ?: array_order(x->access, y->access)
	       ?: array_order(x->allocation, y->allocation)
	       ?: array_order(x->offset_bytes, y->offset_bytes);
}

void fmt_rank_data_extend(struct fmt_rank_data *p, const struct fmt_event *e)
{
	/* The interval contains the start of each event, also without duration. */
	int64_t end_ns = e->start_ns + (e->duration_ns ?: 1);

	p->first_ns = e->start_ns < p->first_ns ? e->start_ns : p->first_ns;
	p->last_ns = end_ns > p->last_ns ? end_ns : p->last_ns;
}

void fmt_rank_data_sort(struct fmt_rank_data *part)
{
	if (part->first_ns > part->last_ns)
		part->first_ns = part->last_ns = 0;
	if (part->n_ranges > 0)
		qsort(part->ranges, part->n_ranges, sizeof(*part->ranges), by_start);
	if (part->n_digests > 0)
		qsort(part->digests, part->n_digests, sizeof(*part->digests), compare_digests);
}

static int count_ranges(void *context, struct fmt_planner *p)
{
	const struct fmt_rank_data_reader *s = context;

	for (size_t i = 0; i < s->part->n_ranges; i++)
		fmt_planner_add_range(p, s->part->ranges[i].start_ns,
				      s->part->ranges[i].start_ns + s->part->ranges[i].duration_ns);
	return 0;
}

static int take_ranges(void *context, struct fmt_run_slice *made, int64_t end_ns, bool last)
{
	struct fmt_rank_data_reader *s = context;
	size_t from = s->range, n;

	while (s->range < s->part->n_ranges &&
	       (last || s->part->ranges[s->range].start_ns < end_ns))
		s->range++;
	n = s->range - from;
	if (array_reserve(&made->slice.ranges, n, &made->ranges_cap) < 0)
		return -ENOMEM;
	if (n > 0) {
		memcpy(made->slice.ranges, s->part->ranges + from, n * sizeof(*made->slice.ranges));
		qsort(made->slice.ranges, n, sizeof(*made->slice.ranges), by_track);
	}
	made->slice.n_ranges = n;
	return 0;
}

static int take_digest(const struct fmt_rank_data_reader *s, struct fmt_run_slice *made,
		       struct fmt_digest d, fmt_number number)
{
	struct fmt_slice *slice = &made->slice;
	size_t words = 2 * (size_t)d.n_pages;

	if (array_reserve(&slice->digests, slice->n_digests + 1, &made->digests_cap) < 0 ||
	    array_reserve(&slice->pages, slice->n_pages + words, &made->pages_cap) < 0)
		return -ENOMEM;
	if (words > 0)
		memcpy(slice->pages + slice->n_pages, s->part->pages + d.first_page,
		       words * sizeof(*slice->pages));
	d.first_page = (uint32_t)slice->n_pages;
	d.op = number;
	slice->n_pages += words;
	slice->digests[slice->n_digests++] = d;
	return 0;
}

/* A content of an operation, which now has a number. */
static int take_content(struct fmt_rank_data_reader *s, struct fmt_digest d, fmt_number number)
{
	if (array_reserve(&s->contents, s->n_contents + 1, &s->contents_cap) < 0)
		return -ENOMEM;
	d.op = number;
	s->contents[s->n_contents++] = d;
	return 0;
}

static int take_digests(void *context, struct fmt_run_slice *made)
{
	struct fmt_rank_data_reader *s = context;
	const struct fmt_run_digest *list = s->part->digests;
	size_t n = s->part->n_digests;
	int64_t iteration = made->slice.iteration.number;
	/* Operations before the first iteration wrote the memory that it reads. */
	bool wanted = s->first_content <= s->last_content && iteration <= s->last_content &&
		      (iteration < 0 || iteration >= s->first_content);
	int r = 0;

	for (size_t i = 0; i < made->slice.n_events && n > 0 && r == 0; i++) {
		fmt_number number = made->slice.first_number + i;
		uint32_t position = made->event_at[i];

		for (size_t k = array_bound(j, 0, n, list[j].digest.op < position);
		     r == 0 && k < n && list[k].digest.op == position; k++)
			if (!list[k].is_content)
				r = take_digest(s, made, list[k].digest, number);
			else if (wanted)
				r = take_content(s, list[k].digest, number);
	}
	return r;
}

void fmt_rank_data_reader_done(struct fmt_rank_data_reader *reading)
{
	free(reading->contents);
	*reading = (struct fmt_rank_data_reader){0};
}

struct fmt_run_source fmt_rank_data_source(const struct fmt_rank_data *part,
					   struct fmt_rank_data_reader *reading)
{
	reading->part = part;
	reading->range = 0;
	reading->first_content = 0;
	reading->last_content = -1;
	return (struct fmt_run_source){
		.context = reading,
		.call_of = part->call_of,
		.first_ns = part->first_ns,
		.last_ns = part->last_ns,
		.count_ranges = count_ranges,
		.take_ranges = take_ranges,
		.take_digests = take_digests,
	};
}
