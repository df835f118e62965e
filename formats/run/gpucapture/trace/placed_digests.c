/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/placed_digests.h"

#include "base/array.h"
#include "base/scope.h"

/* An operation or call of a process, sorted by id; operations precede their calls. */
struct by_id {
	uint64_t correlation;
	uint32_t event;
	uint8_t index, is_call, is_placed;
};

static int compare_ids(const void *a, const void *b)
{
	const struct by_id *x = a, *y = b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->is_call, y->is_call)
	       ?: array_order(x->index, y->index);
}

/* The event that a digest is of: the operation, else its call; NULL: it is not there. */
static const struct by_id *find_id(const struct by_id *list, size_t n, uint64_t correlation,
				   uint32_t index)
{
	size_t low = array_bound(i, 0, n, list[i].correlation < correlation);
	const struct by_id *best = NULL;

	for (; low < n && list[low].correlation == correlation; low++) {
		const struct by_id *i = &list[low];

		if (!best || !best->is_placed || (i->is_placed && !i->is_call && i->index == index))
			best = i;
	}
	return best;
}

/* Lists the events that may have digests. */
static int list_events(const struct rec_process *p, const struct rec_places *places,
		       struct by_id **ret, size_t *n)
{
	struct by_id *list = malloc((p->n_events + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_events; i++)
		if (p->events[i].kind != FMT_SYNC)
			list[(*n)++] =
				(struct by_id){p->events[i].correlation, i, p->events[i].index,
					       p->events[i].kind == FMT_CALL,
					       *rec_place(places, p, i) != FMT_RUN_NONE};
	if (*n > 0)
		qsort(list, *n, sizeof(*list), compare_ids);
	*ret = list;
	return 0;
}

/* Adds digests, or contents, to the parts that their operations are in. */
static int attach(struct rec_process *p, const struct rec_places *places, const struct by_id *list,
		  size_t n, bool contents)
{
	struct rec_digest *from = contents ? p->contents : p->digests;
	size_t n_from = contents ? p->n_contents : p->n_digests;

	for (size_t i = 0; i < n_from; i++) {
		const struct by_id *of = find_id(list, n, from[i].id + 1, from[i].index);
		struct fmt_digest made = from[i].digest, **to;
		struct fmt_run_part *part;
		size_t *n_to;

		from[i].event = of ? of->event : REC_NONE;
		if (!of || !of->is_placed)
			continue;
		part = &places->parts[rec_rank_of(places->ranks, p, &p->events[of->event])];
		to = contents ? &part->contents : &part->digests;
		n_to = contents ? &part->n_contents : &part->n_digests;
		if (array_reserve(to, *n_to + 1,
				  contents ? &part->contents_cap : &part->digests_cap) < 0)
			return -ENOMEM;
		made.op = *rec_place(places, p, of->event);
		made.allocation = rec_memory_number(&p->memory, made.allocation);
		(*to)[(*n_to)++] = made;
	}
	return 0;
}

int rec_digests_place(struct rec_process *p, const struct rec_places *places)
{
	scoped(free_ptr) struct by_id *list = NULL;
	size_t n = 0;
	int r;

	if (p->n_digests == 0 && p->n_contents == 0)
		return 0;
	r = list_events(p, places, &list, &n);
	if (r == 0)
		r = attach(p, places, list, n, false);
	return r < 0 ? r : attach(p, places, list, n, true);
}
