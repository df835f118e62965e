/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/part.h"

#include "base/array.h"

struct fmt_walk fmt_walk(const struct fmt_trace *t, const struct fmt_part *part)
{
	struct fmt_walk w = {.trace = t, .part = *part};

	if (part->rank != FMT_ANY)
		w.rank = part->rank < 0 || part->rank > UINT32_MAX ? UINT32_MAX
								   : (uint32_t)part->rank;
	for (uint32_t i = 0; part->progress && i < fmt_trace_n_ranks(t); i++) {
		if (part->rank == FMT_ANY || part->rank == i)
			w.total += fmt_trace_rank(t, i)->n_slices;
	}
	return w;
}

/* Compares the iteration of a slice with that of the walk. */
static int compare_iteration(const struct fmt_walk *w, uint32_t slice)
{
	const struct fmt_slice_info *info = fmt_trace_slice(w->trace, w->rank, slice);

	return fmt_iteration_order(info->iteration.number, w->part.iteration);
}

/* Returns the n-th slice by iteration. */
static uint32_t nth_slice(const struct fmt_rank *rank, size_t n)
{
	return rank->by_iteration ? rank->by_iteration[n] : (uint32_t)n;
}

/* Returns true if the slice precedes those that the walk has not visited. */
static bool is_before(const struct fmt_walk *w, uint32_t slice)
{
	int order = compare_iteration(w, slice);

	return order < 0 || (order == 0 && slice < w->next);
}

/* Returns the next slice of the rank in the part, or the rank's number of slices. */
static uint32_t seek_slice(const struct fmt_walk *w, const struct fmt_rank *rank)
{
	uint32_t n = rank->n_slices, slice;
	size_t at;

	if (w->part.iteration == FMT_ANY)
		return w->next;
	at = array_bound(i, 0, n, is_before(w, nth_slice(rank, i)));
	slice = at < n ? nth_slice(rank, at) : n;
	return slice < n && compare_iteration(w, slice) == 0 ? slice : n;
}

bool fmt_walk_next(struct fmt_walk *w)
{
	while (w->rank < fmt_trace_n_ranks(w->trace)) {
		const struct fmt_rank *rank = fmt_trace_rank(w->trace, w->rank);
		uint32_t found = seek_slice(w, rank);

		w->done += found - w->next;
		if (found < rank->n_slices) {
			w->slice = found;
			w->next = found + 1;
			w->done++;
			w->info = fmt_trace_slice(w->trace, w->rank, found);
			if (w->part.progress)
				w->part.progress(w->part.context, w->done, w->total);
			return true;
		}
		if (w->part.rank != FMT_ANY)
			return false;
		w->rank++;
		w->next = 0;
	}
	return false;
}

int64_t fmt_rank_index(const struct fmt_trace *t, int64_t number)
{
	for (uint32_t i = 0; i < fmt_trace_n_ranks(t); i++) {
		if (fmt_trace_rank(t, i)->number == number)
			return i;
	}
	return -1;
}
