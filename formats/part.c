/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/part.h"

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

bool fmt_walk_next(struct fmt_walk *w)
{
	while (w->rank < fmt_trace_n_ranks(w->trace)) {
		const struct fmt_rank *rank = fmt_trace_rank(w->trace, w->rank);

		while (w->next < rank->n_slices) {
			w->slice = w->next++;
			w->done++;
			w->info = fmt_trace_slice(w->trace, w->rank, w->slice);
			if (w->part.iteration == FMT_ANY ||
			    w->info->iteration.number == w->part.iteration) {
				if (w->part.progress)
					w->part.progress(w->part.context, w->done, w->total);
				return true;
			}
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
