/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/window.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/store/blobs.h"

#include <stdio.h>

/* The iteration of an event of the rank. */
static int64_t iteration_of(const struct fmt_trace *t, uint32_t rank, fmt_number event)
{
	uint32_t n = fmt_trace_rank(t, rank)->n_slices;
	uint32_t i = array_bound(k, 0, n, fmt_trace_slice(t, rank, k)->first_number <= event);

	return i > 0 ? fmt_trace_slice(t, rank, i - 1)->iteration.number : FMT_BEFORE;
}

/* Finds the last iteration, up to `limit`, for which the process of the rank has a keyframe;
 * FMT_BEFORE: none. A process without memory needs none. */
static int last_keyframe(const struct fmt_trace *t, uint32_t of, int64_t limit, int64_t *ret,
			 struct fmt_error *err)
{
	const struct fmt_names *names = fmt_trace_names(t);
	bool has_memory = false;
	int r = 0;

	*ret = FMT_BEFORE;
	for (uint32_t rank = of; rank < fmt_trace_n_ranks(t) && r == 0; rank++) {
		scoped(free_ptr) struct fmt_digest *list = NULL;
		size_t n = 0;

		if (rank != of && !fmt_same_process(names, rank, of))
			continue;
		has_memory |= fmt_fact_value(names, rank, FMT_FACT_ALLOCATIONS) != NULL;
		r = fmt_contents_read(t, rank, &list, &n, err);
		for (size_t i = 0; i < n && r == 0; i++) {
			int64_t at = list[i].access == FMT_LIVE ? iteration_of(t, rank, list[i].op)
								: FMT_BEFORE;

			if (fmt_iteration_order(at, limit) <= 0 &&
			    fmt_iteration_order(at, *ret) > 0)
				*ret = at;
		}
	}
	*ret = has_memory ? *ret : limit;
	return r;
}

/* Returns true if a rank before it belongs to the same process. */
static bool is_other_rank(const struct fmt_trace *t, uint32_t rank)
{
	for (uint32_t i = 0; i < rank; i++)
		if (fmt_same_process(fmt_trace_names(t), i, rank))
			return true;
	return false;
}

/* Finds the first and the last iteration of all ranks; false if the trace has no iterations. */
static bool iterations_of(const struct fmt_trace *t, struct rex_iteration_range *ret)
{
	bool found = false;

	for (uint32_t rank = 0; rank < fmt_trace_n_ranks(t); rank++)
		for (uint32_t i = 0; i < fmt_trace_rank(t, rank)->n_slices; i++) {
			int64_t number = fmt_trace_slice(t, rank, i)->iteration.number;

			if (number < 0)
				continue;
			ret->first = !found || number < ret->first ? number : ret->first;
			ret->last = !found || number > ret->last ? number : ret->last;
			found = true;
		}
	return found;
}

/* All processes begin at the same iteration: if one has no keyframe there, all begin earlier. */
static int common_keyframe(struct fmt_trace *t, int64_t limit, int64_t *ret, struct fmt_error *err)
{
	uint32_t n = fmt_trace_n_ranks(t), agree = 0;
	int r = 0;

	for (uint32_t i = 0; agree < n && limit != FMT_BEFORE && r == 0; i = (i + 1) % n) {
		int64_t at = limit;

		if (!is_other_rank(t, i))
			r = last_keyframe(t, i, limit, &at, err);
		agree = at == limit ? agree + 1 : 1;
		limit = at;
	}
	if (r == 0)
		*ret = limit;
	return r;
}

int rex_window_find(struct fmt_trace *trace, struct rex_iteration_range wanted,
		    struct rex_iteration_range *ret, struct fmt_error *err)
{
	bool is_window = fmt_fact_value(fmt_trace_names(trace), FMT_WHOLE_TRACE, FMT_WINDOW_KEY);
	struct rex_iteration_range there;
	int r = 0;

	*ret = wanted;
	if (!iterations_of(trace, &there))
		return wanted.first != FMT_BEFORE || wanted.last != FMT_AFTER ? -ENOENT : 0;
	if (wanted.last != FMT_AFTER && (wanted.first > there.last || wanted.last < there.first))
		return -ENOENT;
	if (is_window && fmt_iteration_order(wanted.first, there.first) < 0)
		ret->first = there.first;
	if (ret->first != FMT_BEFORE)
		r = common_keyframe(trace, ret->first, &ret->first, err);
	if (is_window && ret->first == FMT_BEFORE)
		ret->first = there.first;
	return r;
}
