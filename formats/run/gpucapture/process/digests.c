/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/digests.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/gpucapture/process/call.h"

/* ---- records */

/* Adds n, which may be negative, to the outstanding digests of the call. */
static int count_outstanding(struct rec_process *p, uint64_t id, int64_t n)
{
	const struct rec_pending_entry made = {.id = id + 1, .event = REC_NONE, .n = n};
	struct rec_pending_entry *slot = rec_pending_get(&p->buffers.due, id + 1);

	if (!slot)
		return -ENOMEM;
	if (!slot->id) {
		rec_pending_set(&p->buffers.due, slot, &made);
		return 0;
	}
	slot->n += n;
	if (slot->n == 0)
		rec_pending_remove(&p->buffers.due, slot);
	return 0;
}

int rec_digests_expect(struct rec_process *p, uint64_t id, uint32_t n)
{
	return count_outstanding(p, id, n);
}

void rec_digests_set_event(struct rec_process *p, uint64_t id, uint32_t event)
{
	struct rec_pending_entry *slot = rec_pending_find(&p->buffers.due, id + 1);

	if (slot)
		slot->event = event;
}

uint32_t rec_digests_first_pending(const struct rec_process *p, uint32_t from)
{
	uint32_t first = REC_NONE;

	for (size_t i = 0; i < p->buffers.due.size; i++) {
		const struct rec_pending_entry *w = &p->buffers.due.slots[i];

		if (w->id && w->n > 0 && w->event >= from && w->event < first)
			first = w->event;
	}
	return first;
}

static uint8_t access_of(uint8_t flags)
{
	if (flags & CAP_DIGEST_LIVE)
		return flags & CAP_DIGEST_OUTPUT ? FMT_LIVE_AFTER : FMT_LIVE;
	return flags & CAP_DIGEST_OUTPUT ? FMT_WRITTEN : FMT_READ;
}

static int append_digest(struct rec_process *p, const struct rec_digest *made)
{
	if (array_reserve(&p->buffers.digests, p->buffers.n_digests + 1, &p->buffers.digests_cap) <
	    0)
		return -ENOMEM;
	p->buffers.digests[p->buffers.n_digests++] = *made;
	return 0;
}

int rec_add_digest(struct rec_process *p, const struct cap_digest_record *d, int64_t at_ns)
{
	size_t words = 2 * (size_t)d->n_pages, first = p->buffers.n_pages;
	int r = count_outstanding(p, d->id, -1);

	if (r < 0 || (d->head.flags & CAP_DIGEST_EMPTY))
		return r;
	if (first > UINT32_MAX - words)
		return -EOVERFLOW;
	if (array_reserve(&p->buffers.pages, first + words, &p->buffers.pages_cap) < 0)
		return -ENOMEM;
	if (words > 0)
		memcpy(p->buffers.pages + first, d->pages, 8 * words);
	p->buffers.n_pages += words;
	return append_digest(p, &(struct rec_digest){
					.id = d->id,
					.at_ns = d->head.flags & CAP_DIGEST_LIVE ? at_ns : -1,
					.digest = {.allocation = d->allocation,
						   .offset_bytes = d->offset_bytes,
						   .length_bytes = d->length_bytes,
						   .digest = {d->digest[0], d->digest[1]},
						   .first_page = (uint32_t)first,
						   .n_pages = d->n_pages,
						   .access = access_of(d->head.flags)},
				});
}

int rec_add_content(struct rec_process *p, const struct cap_payload_record *r, int64_t at_ns)
{
	bool announced = !(r->head.flags & CAP_DIGEST_UNANNOUNCED);
	int e = announced ? count_outstanding(p, r->id, -1) : 0;

	if (!announced && r->head.flags & CAP_DIGEST_EMPTY)
		p->counts.keyframe_missing += r->length_bytes;
	else if (access_of(r->head.flags) == FMT_LIVE)
		p->counts.keyframe_pages++;
	if (e < 0 || (r->head.flags & CAP_DIGEST_EMPTY))
		return e;
	return append_digest(p, &(struct rec_digest){
					.id = r->id,
					.at_ns = r->head.flags & CAP_DIGEST_LIVE ? at_ns : -1,
					.is_content = true,
					.digest = {.allocation = r->allocation,
						   .offset_bytes = r->offset_bytes,
						   .length_bytes = r->length_bytes,
						   .digest = {r->hash[0], r->hash[1]},
						   .access = access_of(r->head.flags)},
				});
}

/* ---- between two segments */

/* Returns true if the call was processed: nested calls have greater ordinals and end before. */
static bool is_over(const struct rec_process *p, uint64_t id)
{
	for (size_t i = 0; i < p->n_threads; i++)
		if (p->threads[i]->ring == cap_id_ring(id))
			return cap_id_ordinal(id) <= p->threads[i]->over;
	return false;
}

/* Keeps the digests that are still needed. */
static void keep_needed(struct rec_process *p, const uint32_t *to)
{
	struct rec_digest *list = p->buffers.digests;
	size_t kept = 0;

	for (size_t i = 0; i < p->buffers.n_digests; i++) {
		bool is_keyframe = list[i].at_ns >= 0, is_found = list[i].event != REC_NONE;
		bool is_late = !is_keyframe && !is_found && is_over(p, list[i].id);

		p->counts.late_digests += is_late;
		if (is_keyframe ? !list[i].is_placed
				: !is_late && (!is_found || to[list[i].event] != REC_NONE))
			list[kept++] = list[i];
	}
	p->buffers.n_digests = kept;
}

/* Moves the pages of the remaining digests. */
static int carry_pages(struct rec_process *p)
{
	scoped(free_ptr) uint64_t *old = take(p->buffers.pages);

	p->buffers.n_pages = p->buffers.pages_cap = 0;
	for (size_t i = 0; i < p->buffers.n_digests; i++) {
		struct fmt_digest *d = &p->buffers.digests[i].digest;
		size_t words = 2 * (size_t)d->n_pages;

		if (array_reserve(&p->buffers.pages, p->buffers.n_pages + words,
				  &p->buffers.pages_cap) < 0)
			return -ENOMEM;
		if (words > 0)
			memcpy(p->buffers.pages + p->buffers.n_pages, old + d->first_page,
			       words * sizeof(*p->buffers.pages));
		d->first_page = (uint32_t)p->buffers.n_pages;
		p->buffers.n_pages += words;
	}
	return 0;
}

/* Drops counts of calls whose digests were not announced, or whose operations were already
 * written. */
static void drop_late(struct rec_process *p)
{
	for (size_t i = 0; i < p->buffers.due.size;) {
		struct rec_pending_entry *w = &p->buffers.due.slots[i];

		if (w->id && w->n < 0 && is_over(p, w->id - 1))
			rec_pending_remove(&p->buffers.due, w);
		else
			i++;
	}
}

int rec_digests_renumber(struct rec_process *p, const uint32_t *to)
{
	keep_needed(p, to);
	rec_pending_renumber(&p->buffers.due, to);
	drop_late(p);
	return carry_pages(p);
}
