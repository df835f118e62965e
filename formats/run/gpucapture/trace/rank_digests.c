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

/* The position of a rank when a keyframe was taken; caches the last search. */
struct keyframe {
	int64_t at_ns;
	uint32_t rank, op;
	uint8_t access;
	bool is_known;
	bool is_replaced; /* by a later one before the same operation */
};

/* When the event's call, or it itself, began. */
static int64_t launch_time(const struct fmt_run_rank *run, const struct fmt_rank_data *part,
			   uint32_t i)
{
	uint32_t call = part->call_of ? part->call_of[i] : FMT_RUN_NONE;

	return run->events[call == FMT_RUN_NONE ? i : call].start_ns;
}

/* Returns the first operation of the rank that was launched after at_ns, or the last one before it;
 * a call if there is no operation; FMT_RUN_NONE. */
static uint32_t nearest_op(const struct rec_segment *s, uint32_t rank, int64_t at_ns, bool after)
{
	const struct fmt_run_rank *run = &s->run.ranks[rank];
	uint32_t best = FMT_RUN_NONE;
	bool best_is_op = false;

	for (uint32_t i = 0; i < run->n_events; i++) {
		uint8_t kind = fmt_template(s->run.names, run->events[i].template)->kind;
		int64_t at = launch_time(run, &s->parts[rank], i), best_at;
		bool is_op = FMT_IS_OP(kind);

		if ((!is_op && kind != FMT_CALL) || (after ? at > at_ns : at < at_ns))
			continue;
		best_at = best == FMT_RUN_NONE ? at : launch_time(run, &s->parts[rank], best);
		if (best != FMT_RUN_NONE && is_op == best_is_op
			    ? (after ? at <= best_at : at >= best_at)
			    : best_is_op)
			continue;
		best = i;
		best_is_op = is_op;
	}
	return best;
}

/* Returns the time of the process's next keyframe; INT64_MAX: none. */
static int64_t next_keyframe(const struct rec_process *p, int64_t at_ns)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < p->buffers.n_digests; i++) {
		const struct rec_digest *d = &p->buffers.digests[i];

		if (d->is_content && d->at_ns > at_ns && d->at_ns < next)
			next = d->at_ns;
	}
	return next;
}

/* Finds the operation of a keyframe. `access` tells whether it precedes or follows at_ns. */
static void find_keyframe(const struct rec_segment *s, const struct rec_process *p, int64_t at_ns,
			  uint8_t access, uint32_t rank, struct keyframe *k)
{
	int64_t next;

	if (k->is_known && k->at_ns == at_ns && k->rank == rank && k->access == access)
		return;
	*k = (struct keyframe){at_ns, rank, FMT_RUN_NONE, access, true, false};
	if (rank == REC_NONE)
		return;
	k->op = nearest_op(s, rank, at_ns, access == FMT_LIVE_AFTER);
	next = access == FMT_LIVE ? next_keyframe(p, at_ns) : INT64_MAX;
	k->is_replaced = next < INT64_MAX && nearest_op(s, rank, next, false) == k->op;
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

/* Adds the digests to the parts with their operations. */
static int attach_digests(struct rec_segment *s, const struct rec_ranks *ranks,
			  struct rec_process *p, const struct by_id *list, size_t n)
{
	struct keyframe keyframe = {0};
	int r = 0;

	for (size_t i = 0; i < p->buffers.n_digests && r == 0; i++) {
		struct rec_digest *from = &p->buffers.digests[i];
		bool is_keyframe = from->at_ns >= 0, is_replaced = false;
		const struct by_id *of = is_keyframe ? NULL : find_id(list, n, from->id + 1);
		struct fmt_digest made = from->digest;
		uint32_t rank;
		int device;

		from->event = of ? of->event : REC_NONE;
		if (!is_keyframe && (!of || !of->is_placed))
			continue;
		made.allocation = rec_memory_number(&p->memory, made.allocation, &device);
		if (made.access >= FMT_LIVE) {
			int64_t at_ns = is_keyframe ? from->at_ns
						    : rec_launch_time(p, &p->events[of->event]);

			rank = rec_rank_of_device(ranks, p, device);
			find_keyframe(s, p, at_ns, made.access, rank, &keyframe);
			made.op = keyframe.op;
			is_replaced = from->is_content && keyframe.is_replaced;
		} else {
			rank = rec_rank_of(ranks, p, &p->events[of->event]);
			made.op = p->events[of->event].index;
		}
		from->is_placed = made.op != FMT_RUN_NONE;
		if (made.op != FMT_RUN_NONE && !is_replaced)
			r = add_digest(p, from, made, &s->parts[rank]);
	}
	return r;
}

int rec_rank_add_digests(struct rec_segment *s, const struct rec_ranks *ranks,
			 struct rec_process *p)
{
	scoped(free_ptr) struct by_id *list = NULL;
	size_t n = 0;
	int r;

	if (p->buffers.n_digests == 0)
		return 0;
	r = list_events(p, &list, &n);
	return r < 0 ? r : attach_digests(s, ranks, p, list, n);
}
