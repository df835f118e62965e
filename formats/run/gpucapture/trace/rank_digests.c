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

/* The event at which live memory of a rank is listed. */
struct live_event {
	int64_t at_ns;
	uint32_t of; /* rank */
	uint8_t access;
	bool is_content;
	bool is_known;
	bool is_over;	      /* no later segment has the event */
	uint32_t rank, event; /* FMT_RUN_NONE: not found */
};

/* When an operation or call of a rank was launched. */
struct launch {
	int64_t at_ns;
	uint32_t event;
	uint8_t is_call;
};

/* Those of a rank in the segment; sorted, operations first. */
struct launches {
	struct launch *list; /* owned; NULL: not listed yet */
	size_t n_ops, n;
	int64_t later_ns; /* the first launch of the process in a later segment; INT64_MAX: none */
};

/* Search for the events at which live memory of a process is listed. */
struct placement {
	const struct rec_segment *segment;
	const struct rec_plan *plan;
	const struct rec_process *process;
	struct launches *launches; /* owned: by rank */
	struct live_event last;	   /* the last search */
	int r;
};

static void placement_done(struct placement *x)
{
	for (uint32_t i = 0; x->launches && i < x->plan->ranks.n; i++)
		free(x->launches[i].list);
	free(x->launches);
}

static int compare_launches(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	return array_order(x->is_call, y->is_call) ?: array_order(x->at_ns, y->at_ns)
	       ?: array_order(x->event, y->event);
}

/* When the event's call, or it itself, began. */
static int64_t launch_time(const struct fmt_run_rank *run, const struct fmt_rank_data *part,
			   uint32_t i)
{
	uint32_t call = part->call_of ? part->call_of[i] : FMT_RUN_NONE;

	return run->events[call == FMT_RUN_NONE ? i : call].start_ns;
}

/* Returns the first launch of the rank that the window keeps and a later segment contains. */
static int64_t find_later(const struct placement *x, uint32_t rank)
{
	const struct rec_segment_rank *of = &x->segment->ranks[rank];
	const struct rec_process *p = x->process;
	int64_t first_ns = INT64_MAX;

	for (uint32_t i = 0; i < p->n_events; i++) {
		const struct rec_event *e = &p->events[i];
		int64_t at_ns = rec_launch_time(p, e);

		if (e->kind != FMT_SYNC && at_ns < first_ns && at_ns >= of->to_ns &&
		    (at_ns >= of->first_ns || e->keeps) && at_ns < of->last_ns &&
		    rec_rank_of(&x->plan->ranks, p, e) == rank)
			first_ns = at_ns;
	}
	return first_ns;
}

static struct launches *list_launches(struct placement *x, uint32_t rank)
{
	const struct fmt_run_rank *run = &x->segment->run.ranks[rank];
	struct launches *l = &x->launches[rank];

	if (l->list)
		return l;
	l->list = malloc((run->n_events + (size_t)1) * sizeof(*l->list));
	x->r = l->list ? x->r : -ENOMEM;
	for (uint32_t i = 0; l->list && i < run->n_events; i++) {
		uint8_t kind = fmt_template(x->segment->run.names, run->events[i].template)->kind;

		if (!FMT_IS_OP(kind) && kind != FMT_CALL)
			continue;
		l->n_ops += FMT_IS_OP(kind);
		l->list[l->n++] = (struct launch){launch_time(run, &x->segment->parts[rank], i), i,
						  kind == FMT_CALL};
	}
	if (l->n > 0)
		qsort(l->list, l->n, sizeof(*l->list), compare_launches);
	l->later_ns = find_later(x, rank);
	return l;
}

/* Returns the first operation, or the last one, of those that were launched in that time; a call if
 * there is no operation; FMT_RUN_NONE. */
static uint32_t find_op(const struct launches *l, int64_t from_ns, int64_t to_ns, bool last)
{
	for (size_t first = 0, end = l->n_ops;; first = end, end = l->n) {
		size_t low = array_bound(i, first, end, l->list[i].at_ns < from_ns);
		size_t high = array_bound(i, low, end, l->list[i].at_ns < to_ns);

		if (low < high)
			return l->list[last ? high - 1 : low].event;
		if (end == l->n)
			return FMT_RUN_NONE;
	}
}

/* The end of the rank's iteration at that time. */
static int64_t end_of_iteration(const struct rec_plan *plan, uint32_t rank, int64_t at_ns)
{
	const struct fmt_iterations *all = &plan->iterations[rank].all;
	size_t next = array_bound(i, 0, all->n, all->list[i].start_ns <= at_ns);

	return next < all->n ? all->list[next].start_ns : INT64_MAX;
}

/* Searches the rank, then the other ranks of its process, from at_ns to the end of the iteration or
 * of the segment; FMT_LIVE_AFTER: up to at_ns, unless a later segment has a later operation. */
static void search_process(struct placement *x, bool to_end_of_iteration, struct live_event *k)
{
	const struct rec_ranks *ranks = &x->plan->ranks;
	bool after = k->access == FMT_LIVE_AFTER;

	k->is_over = true;
	for (uint32_t i = 0; i < ranks->n && k->event == FMT_RUN_NONE; i++) {
		uint32_t rank = (k->of + i) % ranks->n;
		int64_t end_ns = after		       ? k->at_ns + 1
				 : to_end_of_iteration ? end_of_iteration(x->plan, rank, k->at_ns)
						       : INT64_MAX;
		const struct launches *l;

		if (ranks->ranks[rank].process != ranks->ranks[k->of].process)
			continue;
		l = list_launches(x, rank);
		k->is_over &= x->segment->ranks[rank].to_ns >= end_ns;
		if (after && l->later_ns <= k->at_ns)
			return;
		k->rank = rank;
		k->event = find_op(l, after ? INT64_MIN : k->at_ns, end_ns, after);
	}
}

/* FMT_LIVE is listed at the first operation of its iteration that was launched after it;
 * FMT_LIVE_AFTER at the last operation before it. If the process does nothing in the iteration, no
 * window needs the contents, and digests are listed later. */
static void find_live_event(struct placement *x, const struct live_event *wanted)
{
	struct live_event *k = &x->last;

	if (k->is_known && k->at_ns == wanted->at_ns && k->of == wanted->of &&
	    k->access == wanted->access && k->is_content == wanted->is_content)
		return;
	*k = *wanted;
	k->event = FMT_RUN_NONE;
	k->is_known = k->is_over = true;
	if (k->of == REC_NONE)
		return;
	search_process(x, true, k);
	if (k->event == FMT_RUN_NONE && k->is_over && !k->is_content)
		search_process(x, false, k);
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
static void place_live(struct placement *x, struct rec_process *p, struct rec_digest *d,
		       uint32_t of, uint32_t *ret_rank, fmt_number *ret_event)
{
	const struct live_event *k = &x->last;

	find_live_event(x, &(struct live_event){d->at_ns, of, d->digest.access, d->is_content});
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
	scoped(placement_done) struct placement live = {s, plan, p};
	int r = 0;

	live.launches = calloc(plan->ranks.n + (size_t)1, sizeof(*live.launches));
	if (!live.launches)
		return -ENOMEM;
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
			place_live(&live, p, from, rank, &rank, &made.op);
			r = live.r;
		} else {
			rank = rec_rank_of(&plan->ranks, p, &p->events[of->event]);
			made.op = p->events[of->event].index;
		}
		if (r == 0 && made.op != FMT_RUN_NONE)
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
