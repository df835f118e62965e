/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns digests and contents of a process to the operations of ranks. */
#include "formats/run/gpucapture/trace/rank_events.h"

#include "base/array.h"
#include "base/scope.h"

/* An operation or call of a process, sorted by id; operations precede their calls. */
struct by_id {
	uint64_t correlation;
	uint32_t event;
	uint8_t is_call, is_placed;
};

static int compare_ids(const void *a, const void *b)
{
	const struct by_id *x = a, *y = b;

	return array_order(x->correlation, y->correlation) ?: array_order(x->is_call, y->is_call);
}

/* Returns the event of a digest: the operation, else its call; NULL: not found. */
static const struct by_id *find_id(const struct by_id *list, size_t n, uint64_t correlation)
{
	size_t low = array_bound(i, 0, n, list[i].correlation < correlation);
	const struct by_id *best = NULL;

	for (; low < n && list[low].correlation == correlation; low++)
		if (!best || !best->is_placed)
			best = &list[low];
	return best;
}

/* The event at which live memory of a rank is listed; caches the last search. */
struct live_event {
	int64_t at_ns;
	uint32_t of; /* rank */
	uint8_t access;
	bool is_content;
	bool is_known;
	bool is_over;	      /* no later segment has the event */
	uint32_t rank, event; /* FMT_RUN_NONE: not found */
};

/* When the event's call, or it itself, began. */
static int64_t launch_time(const struct fmt_run_rank *run, const struct fmt_rank_data *part,
			   uint32_t i)
{
	uint32_t call = part->call_of ? part->call_of[i] : FMT_RUN_NONE;

	return run->events[call == FMT_RUN_NONE ? i : call].start_ns;
}

/* Returns the first operation, or the last one, of those of the rank that were launched in that
 * time; a call if there is no operation; FMT_RUN_NONE. */
static uint32_t find_op(const struct rec_segment *s, uint32_t rank, int64_t from_ns, int64_t to_ns,
			bool last)
{
	const struct fmt_run_rank *run = &s->run.ranks[rank];
	uint32_t best = FMT_RUN_NONE;
	bool best_is_op = false;
	int64_t best_at = 0;

	for (uint32_t i = 0; i < run->n_events; i++) {
		uint8_t kind = fmt_template(s->run.names, run->events[i].template)->kind;
		int64_t at = launch_time(run, &s->parts[rank], i);
		bool is_op = FMT_IS_OP(kind);

		if ((!is_op && kind != FMT_CALL) || at < from_ns || at >= to_ns)
			continue;
		if (best != FMT_RUN_NONE && is_op == best_is_op
			    ? (last ? at < best_at : at >= best_at)
			    : best_is_op)
			continue;
		best = i;
		best_is_op = is_op;
		best_at = at;
	}
	return best;
}

/* The end of the rank's iteration at that time. */
static int64_t end_of_iteration(const struct rec_plan *plan, uint32_t rank, int64_t at_ns)
{
	const struct fmt_iterations *all = &plan->iterations[rank].all;
	size_t next = array_bound(i, 0, all->n, all->list[i].start_ns <= at_ns);

	return next < all->n ? all->list[next].start_ns : INT64_MAX;
}

/* Searches the rank, then the other ranks of its process, from at_ns to the end of the iteration or
 * of the segment; FMT_LIVE_AFTER: up to at_ns. */
static void search_process(const struct rec_segment *s, const struct rec_plan *plan,
			   bool to_end_of_iteration, struct live_event *k)
{
	const struct rec_ranks *ranks = &plan->ranks;
	bool after = k->access == FMT_LIVE_AFTER;

	k->is_over = true;
	for (uint32_t i = 0; i < ranks->n && k->event == FMT_RUN_NONE; i++) {
		uint32_t rank = (k->of + i) % ranks->n;
		int64_t end_ns = after		       ? k->at_ns + 1
				 : to_end_of_iteration ? end_of_iteration(plan, rank, k->at_ns)
						       : INT64_MAX;

		if (ranks->ranks[rank].process != ranks->ranks[k->of].process)
			continue;
		k->is_over &= s->ranks[rank].to_ns >= end_ns;
		k->rank = rank;
		k->event = find_op(s, rank, after ? INT64_MIN : k->at_ns, end_ns, after);
	}
}

/* FMT_LIVE is listed at the first operation of its iteration that was launched after it;
 * FMT_LIVE_AFTER at the last operation before it. If the process does nothing in the iteration, no
 * window needs the contents, and digests are listed later. */
static void find_live_event(const struct rec_segment *s, const struct rec_plan *plan,
			    const struct live_event *wanted, struct live_event *k)
{
	if (k->is_known && k->at_ns == wanted->at_ns && k->of == wanted->of &&
	    k->access == wanted->access && k->is_content == wanted->is_content)
		return;
	*k = *wanted;
	k->event = FMT_RUN_NONE;
	k->is_known = k->is_over = true;
	if (k->of == REC_NONE)
		return;
	search_process(s, plan, true, k);
	if (k->event == FMT_RUN_NONE && k->is_over && !k->is_content)
		search_process(s, plan, false, k);
}

/* Lists the events that may have digests. */
static int list_events(const struct rec_process *p, struct by_id **ret, size_t *n)
{
	struct by_id *list = malloc((p->n_events + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_events; i++)
		if (p->events[i].kind != FMT_SYNC)
			list[(*n)++] = (struct by_id){p->events[i].correlation, i,
						      p->events[i].kind == FMT_CALL,
						      p->events[i].index != REC_NONE};
	if (*n > 0)
		qsort(list, *n, sizeof(*list), compare_ids);
	*ret = list;
	return 0;
}

/* Adds the digest, and its pages, to the part; its operation is set. */
static int add_digest(const struct rec_process *p, const struct rec_digest *from,
		      struct fmt_digest made, struct fmt_rank_data *part)
{
	size_t words = 2 * (size_t)made.n_pages;

	if (array_reserve(&part->digests, part->n_digests + 1, &part->digests_cap) < 0 ||
	    array_reserve(&part->pages, part->n_pages + words, &part->pages_cap) < 0)
		return -ENOMEM;
	if (words > 0) {
		memcpy(part->pages + part->n_pages, p->buffers.pages + made.first_page,
		       words * sizeof(*part->pages));
		made.first_page = (uint32_t)part->n_pages;
		part->n_pages += words;
	}
	part->digests[part->n_digests++] = (struct fmt_run_digest){made, from->is_content};
	return 0;
}

/* Sets the event and the rank of a digest of live memory. Without one, the process did nothing in
 * the iteration that begins, or its last operations are in an earlier segment. */
static void place_live(const struct rec_segment *s, const struct rec_plan *plan,
		       struct rec_process *p, struct rec_digest *d, uint32_t of,
		       struct live_event *k, uint32_t *ret_rank, fmt_number *ret_event)
{
	find_live_event(s, plan,
			&(struct live_event){d->at_ns, of, d->digest.access, d->is_content}, k);
	*ret_rank = k->rank;
	*ret_event = k->event;
	d->is_placed = k->event != FMT_RUN_NONE || k->is_over;
	p->counts.late_digests +=
		d->is_placed && k->event == FMT_RUN_NONE && k->access == FMT_LIVE_AFTER;
}

/* Adds the digests to the parts with their operations. */
static int attach_digests(struct rec_segment *s, const struct rec_plan *plan, struct rec_process *p,
			  const struct by_id *list, size_t n)
{
	struct live_event live = {0};
	int r = 0;

	for (size_t i = 0; i < p->buffers.n_digests && r == 0; i++) {
		struct rec_digest *from = &p->buffers.digests[i];
		const struct by_id *of = from->at_ns >= 0 ? NULL : find_id(list, n, from->id + 1);
		struct fmt_digest made = from->digest;
		uint32_t rank;
		int device;

		from->event = of ? of->event : REC_NONE;
		if (from->at_ns < 0 && (!of || !of->is_placed))
			continue;
		made.allocation = rec_memory_number(&p->memory, made.allocation, &device);
		if (from->at_ns >= 0) {
			rank = rec_rank_of_device(&plan->ranks, p, device);
			place_live(s, plan, p, from, rank, &live, &rank, &made.op);
		} else {
			rank = rec_rank_of(&plan->ranks, p, &p->events[of->event]);
			made.op = p->events[of->event].index;
		}
		if (made.op != FMT_RUN_NONE)
			r = add_digest(p, from, made, &s->parts[rank]);
	}
	return r;
}

int rec_rank_add_digests(struct rec_segment *s, const struct rec_plan *plan, struct rec_process *p)
{
	scoped(free_ptr) struct by_id *list = NULL;
	size_t n = 0;
	int r;

	if (p->buffers.n_digests == 0)
		return 0;
	r = list_events(p, &list, &n);
	return r < 0 ? r : attach_digests(s, plan, p, list, n);
}
