/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/join/parts.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/blobs.h"
#include "formats/trace/store/cursor.h"

/* Sums and differences of times within it cannot overflow. */
#define MOST_NS (INT64_MAX / 2)

static bool is_possible(int64_t start_ns, int64_t duration_ns)
{
	int64_t end_ns = fmt_add(start_ns, duration_ns);

	return start_ns >= -MOST_NS && start_ns <= end_ns && end_ns <= MOST_NS;
}

static int impossible(struct join *j, uint32_t rank)
{
	const struct join_rank *of = &j->ranks[rank];

	return fmt_fail(j->err, -EBADMSG, j->options->paths[of->part], FMT_NO_OFFSET,
			"an event of GPU %u lies where no time is", of->number);
}

/* Takes over an event with its values: these go behind `*n` of `values`. */
static int take_event(struct join *j, struct join_part *p, const struct fmt_slice *s,
		      struct fmt_event *e, int64_t **values, size_t *n, size_t *cap)
{
	uint32_t template = e->template,
		 count = fmt_template(fmt_trace_names(p->trace), template)->n_values;
	int r = join_template(j, p, template, &e->template);

	if (r < 0)
		return r;
	if (!is_possible(e->start_ns, e->duration_ns))
		return -ERANGE;
	if (*n + count > UINT32_MAX)
		return -EOVERFLOW;
	if (array_reserve(values, *n + count, cap) < 0)
		return -ENOMEM;
	if (count > 0)
		memcpy(*values + *n, s->values + e->first_value, count * sizeof(**values));
	e->first_value = (uint32_t)*n;
	*n += count;
	return join_values(j, p, template, *values + e->first_value);
}

static int take_events(struct join *j, uint32_t rank, const struct fmt_slice *s)
{
	struct join_part *p = &j->parts[j->ranks[rank].part];
	struct join_rank *of = &j->ranks[rank];
	struct fmt_run_rank *run = &j->run.ranks[rank];
	struct fmt_run_part *part = &j->run_parts[rank];
	int r = 0;

	if (run->n_events + s->n_events >= FMT_RUN_NONE)
		return -EOVERFLOW;
	if (array_reserve(&run->events, run->n_events + s->n_events, &of->events_cap) < 0 ||
	    array_reserve(&part->ranges, part->n_ranges + s->n_ranges, &part->ranges_cap) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_events && r == 0; i++) {
		struct fmt_event *e = &run->events[run->n_events++];

		*e = s->events[i];
		r = take_event(j, p, s, e, &run->values, &run->n_values, &of->values_cap);
	}
	for (size_t i = 0; i < s->n_ranges && r == 0; i++) {
		struct fmt_event *e = &part->ranges[part->n_ranges++];

		*e = s->ranges[i];
		r = take_event(j, p, s, e, &part->values, &part->n_values, &part->values_cap);
	}
	return r;
}

/* Operations are numbered by their place, until they are put in order. */
static int take_digests(struct join *j, uint32_t rank, const struct fmt_slice *s)
{
	struct join_rank *of = &j->ranks[rank];
	struct fmt_run_part *part = &j->run_parts[rank];

	if (array_reserve(&part->digests, part->n_digests + s->n_digests, &part->digests_cap) < 0 ||
	    array_reserve(&of->pages, of->n_pages + s->n_pages, &of->pages_cap) < 0)
		return -ENOMEM;
	if (of->n_pages + s->n_pages > UINT32_MAX)
		return -EOVERFLOW;
	for (size_t i = 0; i < s->n_digests; i++) {
		struct fmt_digest d = s->digests[i];

		d.first_page += (uint32_t)of->n_pages;
		part->digests[part->n_digests++] = d;
	}
	if (s->n_pages > 0)
		memcpy(of->pages + of->n_pages, s->pages, s->n_pages * sizeof(*s->pages));
	of->n_pages += s->n_pages;
	return 0;
}

/* Slices that follow one another may be of one iteration. */
static int take_iteration(struct fmt_run_rank *run, size_t *cap, const struct fmt_iteration *it)
{
	if (it->number < 0 ||
	    (run->n_iterations > 0 && run->iterations[run->n_iterations - 1].number == it->number))
		return 0;
	if (!is_possible(it->start_ns, it->duration_ns))
		return -ERANGE;
	if (array_reserve(&run->iterations, run->n_iterations + 1, cap) < 0)
		return -ENOMEM;
	run->iterations[run->n_iterations++] = *it;
	return 0;
}

int join_load(struct join *j, uint32_t rank)
{
	struct join_rank *of = &j->ranks[rank];
	struct fmt_run_part *part = &j->run_parts[rank];
	struct fmt_trace *t = j->parts[of->part].trace;
	uint32_t n = fmt_trace_rank(t, of->index)->n_slices;
	size_t cap = 0;
	int r = fmt_contents_read(t, of->index, &part->contents, &part->n_contents, j->err);

	for (uint32_t i = 0; i < n && r == 0; i++) {
		scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

		if (j->options->progress)
			r = j->options->progress(j->options->context, "reading",
						 rank * UINT64_C(1000) + i * UINT64_C(1000) / n,
						 j->run.n_ranks * UINT64_C(1000));
		if (r == 0)
			r = fmt_slice_load(t, of->index, i, FMT_WANT_ALL, &s, j->err);
		if (r == 0 && s->first_number != j->run.ranks[rank].n_events)
			r = fmt_fail(j->err, -EBADMSG, j->options->paths[of->part], FMT_NO_OFFSET,
				     "events of GPU %u are missing", of->number);
		if (r == 0)
			r = take_events(j, rank, s);
		if (r == 0)
			r = take_digests(j, rank, s);
		if (r == 0)
			r = take_iteration(&j->run.ranks[rank], &cap, &s->iteration);
	}
	return r == -ERANGE ? impossible(j, rank) : r;
}

/* ---- once the clocks are known */

static bool move(const struct fmt_clock *c, int64_t *start_ns, int64_t *duration_ns)
{
	int64_t end_ns = fmt_clock_ns(c, fmt_add(*start_ns, *duration_ns));

	*start_ns = fmt_clock_ns(c, *start_ns);
	*duration_ns = end_ns > *start_ns ? fmt_sub(end_ns, *start_ns) : 0;
	return is_possible(*start_ns, *duration_ns);
}

static bool move_event(const struct fmt_clock *c, struct fmt_run_part *part, struct fmt_event *e)
{
	if (!move(c, &e->start_ns, &e->duration_ns))
		return false;
	fmt_run_part_span(part, e);
	return true;
}

static int move_all(struct join *j, uint32_t rank)
{
	const struct fmt_clock *c = &j->clocks[j->parts[j->ranks[rank].part].clock];
	struct fmt_run_rank *run = &j->run.ranks[rank];
	struct fmt_run_part *part = &j->run_parts[rank];
	bool possible = true;

	for (size_t i = 0; i < run->n_events && possible; i++)
		possible = move_event(c, part, &run->events[i]);
	for (size_t i = 0; i < part->n_ranges && possible; i++)
		possible = move_event(c, part, &part->ranges[i]);
	for (size_t i = 0; i < run->n_iterations && possible; i++)
		possible = move(c, &run->iterations[i].start_ns, &run->iterations[i].duration_ns);
	return possible ? 0 : impossible(j, rank);
}

struct call {
	uint64_t correlation;
	uint32_t event;
};

static int by_correlation(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->event, y->event);
}

/* The call of each operation: the first of its correlation. */
static int find_calls(struct join *j, uint32_t rank)
{
	const struct fmt_run_rank *run = &j->run.ranks[rank];
	scoped(free_ptr) struct call *calls = malloc((run->n_events + 1) * sizeof(*calls));
	uint32_t *of = malloc((run->n_events + 1) * sizeof(*of));
	size_t n = 0;

	j->run_parts[rank].call_of = of;
	if (!calls || !of)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n_events; i++)
		if (run->events[i].correlation > 0 &&
		    fmt_template(j->names, run->events[i].template)->kind == FMT_CALL)
			calls[n++] = (struct call){run->events[i].correlation, i};
	if (n > 0)
		qsort(calls, n, sizeof(*calls), by_correlation);
	for (uint32_t i = 0; i < run->n_events; i++) {
		uint64_t id = run->events[i].correlation;
		size_t at = array_bound(k, 0, n, calls[k].correlation < id);

		of[i] = id > 0 && at < n && calls[at].correlation == id &&
					FMT_IS_OP(fmt_template(j->names, run->events[i].template)
							  ->kind)
				? calls[at].event
				: FMT_RUN_NONE;
	}
	return 0;
}

static size_t renumber(struct fmt_digest *list, size_t n, const uint32_t *position, size_t n_events)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (list[i].op >= n_events)
			continue;
		list[kept] = list[i];
		list[kept++].op = position[list[i].op];
	}
	return kept;
}

int join_settle(struct join *j, uint32_t rank)
{
	struct fmt_run_rank *run = &j->run.ranks[rank];
	struct fmt_run_part *part = &j->run_parts[rank];
	scoped(free_ptr) uint32_t *position = malloc((run->n_events + 1) * sizeof(*position));
	struct fmt_slice all = {.events = run->events, .n_events = run->n_events};
	int r;

	if (!position)
		return -ENOMEM;
	part->first_ns = INT64_MAX;
	part->last_ns = INT64_MIN;
	r = move_all(j, rank);
	if (r == 0)
		r = fmt_slice_sort(&all, position);
	if (r < 0)
		return r;
	part->n_digests = renumber(part->digests, part->n_digests, position, run->n_events);
	part->n_contents = renumber(part->contents, part->n_contents, position, run->n_events);
	part->pages = j->ranks[rank].pages;
	fmt_run_part_sort(part);
	if (run->n_iterations == 0) {
		run->iterations = malloc(sizeof(*run->iterations));
		if (!run->iterations)
			return -ENOMEM;
		run->iterations[run->n_iterations++] = (struct fmt_iteration){
			0, part->first_ns, fmt_sub(part->last_ns, part->first_ns)};
	}
	return find_calls(j, rank);
}
