/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/keyframe.h"

#include "base/scope.h"
#include "capture/digest/gd128.h"
#include "capture/library/device/allocations.h"
#include "capture/library/device/contexts.h"
#include "capture/library/digests/payload.h"
#include "capture/library/find/cu.h"
#include "capture/library/ring/put.h"
#include "capture/library/ring/ring.h"

#include <stdlib.h>
#include <sys/uio.h>

#define STAGED (64 * (uint64_t)GD128_PAGE_BYTES) /* bytes copied at once */

static bool is_inside; /* the range has begun and not ended; atomic */

/* A keyframe in the making. */
struct keyframe {
	uint64_t id;
	unsigned flags;
	uint8_t *staged; /* owned: STAGED bytes */
};

static void put_page(const struct keyframe *k, const struct cap_region *r, uint64_t offset,
		     uint64_t bytes, const void *data)
{
	struct cap_payload_record *p;
	uint64_t hash[2] = {0, 0};
	bool kept = data && cap_put_blob(data, bytes, hash) >= 0;

	p = cap_reserve(sizeof(*p), CAP_PAYLOAD);
	if (!p)
		return;
	p->head.flags = (uint8_t)(k->flags | (kept ? 0 : CAP_DIGEST_EMPTY));
	p->index = p->spare = 0;
	p->id = k->id;
	p->allocation = r->id;
	p->offset_bytes = offset;
	p->length_bytes = bytes;
	p->hash[0] = hash[0];
	p->hash[1] = hash[1];
	cap_publish();
}

/* Reads memory whose context is current. Host memory may be inaccessible now. */
static bool read_memory(const struct cap_region *r, uint64_t offset, uint64_t bytes, void *to)
{
	struct iovec into = {to, bytes}, from = {(void *)(r->base + offset), bytes};

	if (r->kind == CAP_MEMORY_HOST)
		return process_vm_readv(cap_process.pid, &into, 1, &from, 1, 0) == (ssize_t)bytes;
	if (r->kind == CAP_MEMORY_MAPPED && !r->reach)
		return false;
	return cap_cu.cuMemcpyDtoHAsync_v2(to, r->base + offset, bytes, CU_LEGACY_STREAM) == 0 &&
	       cap_cu.cuStreamSynchronize(CU_LEGACY_STREAM) == 0;
}

static void put_region(void *data, const struct cap_region *r)
{
	const struct keyframe *k = data;
	int entered = r->context ? cap_context_enter(r->context) : 0;

	for (uint64_t at = 0; at < r->bytes; at += STAGED) {
		uint64_t n = r->bytes - at < STAGED ? r->bytes - at : STAGED;

		if (!read_memory(r, at, n, k->staged)) {
			put_page(k, r, at, n, NULL);
			continue;
		}
		for (uint64_t page = 0; page < n; page += GD128_PAGE_BYTES)
			put_page(k, r, at + page,
				 n - page < GD128_PAGE_BYTES ? n - page : GD128_PAGE_BYTES,
				 k->staged + page);
	}
	cap_context_leave(entered);
}

static void synchronise(void *unused, const struct cap_region *r)
{
	int entered = r->context ? cap_context_enter(r->context) : 0;

	if (r->context)
		cap_cu.cuCtxSynchronize();
	cap_context_leave(entered);
}

static void take_keyframe(uint64_t id, unsigned flags)
{
	scoped(free_ptr) uint8_t *staged = malloc(STAGED);
	struct keyframe k = {id, CAP_DIGEST_LIVE | CAP_DIGEST_UNANNOUNCED | flags, staged};

	if (!staged)
		return;
	cap_allocations_each(synchronise, NULL);
	cap_allocations_each(put_region, &k);
}

/* Returns the id of the last call that this thread recorded. */
static uint64_t last_call(void)
{
	return cap_self.polls.n > 0 ? cap_self.polls.id : cap_self.next_id - 1;
}

void cap_keyframe_iteration(int64_t number, uint64_t id)
{
	const struct cap_control *c = cap_control();
	bool is_wanted = number >= c->first_payload && number <= c->last_payload;
	bool was_inside;

	if (!cap_payload_is_on())
		return;
	was_inside = __atomic_exchange_n(&is_inside, is_wanted, __ATOMIC_RELAXED);
	if (was_inside && !is_wanted)
		take_keyframe(last_call(), CAP_DIGEST_OUTPUT);
	else if (is_wanted &&
		 (!was_inside ||
		  (c->keyframe_every > 0 && (number - c->first_payload) % c->keyframe_every == 0)))
		take_keyframe(id, 0);
}

void cap_keyframe_end(void)
{
	if (__atomic_exchange_n(&is_inside, false, __ATOMIC_RELAXED))
		take_keyframe(last_call(), CAP_DIGEST_OUTPUT);
}
