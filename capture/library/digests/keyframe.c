/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/keyframe.h"

#include "base/scope.h"
#include "capture/digest/gd128.h"
#include "capture/library/device/allocations.h"
#include "capture/library/device/collector.h"
#include "capture/library/device/contexts.h"
#include "capture/library/digests/payload.h"
#include "capture/library/find/cu.h"
#include "capture/library/ring/put.h"
#include "capture/library/ring/ring.h"
#include "capture/library/ring/ticks.h"
#include "capture/library/times/streams.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

#define STAGED (64 * (uint64_t)GD128_PAGE_BYTES) /* bytes copied at once */

#define NAP_NS 1000000L
#define NAPS 100      /* without progress of the devices, before calls of other threads go on */
#define MOST_TRIES 10 /* for a keyframe; NAPS before calls are held, and NAPS after that */

static bool is_inside;	 /* the range has begun and not ended; atomic */
static uint32_t holding; /* number of threads that hold the calls of others; atomic */
static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static uint32_t left_out; /* number of keyframes not stored; atomic */
static bool synchronises; /* a thread waits for all contexts; atomic */

/* Each thread has its own emulated clock, but whether a call precedes a keyframe is decided by
 * time. So a keyframe is later than all calls that have returned, and later calls are later than
 * it. Both are atomic, and 0 if the clock is not emulated. */
static uint64_t last_start; /* of all calls that have returned */
static uint64_t last_keyframe;

/* Number of calls that may still start work: they have passed cap_keyframe_await() and have not
 * returned. Atomic, as is `holding`: a call is counted before it looks whether calls are held. */
static uint32_t under_way;

static __thread bool holds __attribute__((tls_model("initial-exec")));
static __thread bool is_counted __attribute__((tls_model("initial-exec"))); /* in under_way */

/* A keyframe in the making. */
struct keyframe {
	uint64_t id; /* as in struct cap_payload_record */
	unsigned flags;
	uint8_t *staged; /* owned: STAGED bytes */
};

/* A run that is executed from its beginning needs no keyframe. */
static bool is_enabled(void)
{
	const struct cap_control *c = cap_control();

	return cap_payload_is_enabled() &&
	       (!c->external_only || c->first_iteration >= 0 || c->keyframe_every > 0);
}

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

/* ---- devices at rest */

static void sleep_briefly(void)
{
	nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

/* The number of operations that have not ended, and of calls of other threads that may start one.
 */
static uint64_t count_left(void)
{
	uint32_t calls = __atomic_load_n(&under_way, __ATOMIC_SEQ_CST) - is_counted;

	return (holds ? calls : 0) + cap_streams_outstanding(NULL);
}

/* Waits until all operations have ended, and no other begins within a nap. False: `naps` passed, or
 * with `progress`, they passed without the end of an operation. */
static bool wait_until_idle(unsigned naps, bool progress)
{
	uint64_t before = UINT64_MAX;

	for (unsigned passed = 0; passed < naps; passed++) {
		uint64_t left = count_left();

		if (left == 0 && before == 0)
			return true;
		if (progress && left < before)
			passed = 0;
		before = left;
		sleep_briefly();
	}
	return false;
}

static void synchronise_region(void *unused, const struct cap_region *r)
{
	struct cap_region now;
	int entered;

	/* The program may have destroyed the context. */
	if (!r->context || !cap_allocation_find(r->base, &now) || now.context != r->context)
		return;
	entered = cap_context_enter(r->context);
	cap_cu.cuCtxSynchronize();
	cap_context_leave(entered);
}

static void synchronise_all(void)
{
	cap_allocations_for_each(synchronise_region, NULL);
	__atomic_store_n(&synchronises, false, __ATOMIC_SEQ_CST);
}

bool cap_keyframe_finish(void)
{
	bool is_started = false;

	for (unsigned i = 0; i < NAPS; i++, sleep_briefly()) {
		bool expected = false;

		if (is_started && !__atomic_load_n(&synchronises, __ATOMIC_SEQ_CST))
			return true;
		if (is_started ||
		    !__atomic_compare_exchange_n(&synchronises, &expected, true, false,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		is_started = cap_start_thread(synchronise_all) == 0;
		if (!is_started)
			__atomic_store_n(&synchronises, false, __ATOMIC_SEQ_CST);
	}
	return false;
}

/* Waiting for the device would end a capture. */
static bool is_capturing(void)
{
	return __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) > 0;
}

static void hold_calls(bool begin)
{
	pthread_mutex_lock(&hold_lock);
	__atomic_fetch_add(&holding, begin ? 1 : UINT32_MAX, __ATOMIC_SEQ_CST);
	if (!begin)
		pthread_cond_broadcast(&released);
	pthread_mutex_unlock(&hold_lock);
	holds = begin;
}

/* Waits until all devices are idle, with the calls of other threads held. First without holding
 * them, because a device may wait for one of these calls; and it holds them for a short time
 * only. */
static void hold_when_idle(void)
{
	uint32_t tries = __atomic_load_n(&left_out, __ATOMIC_RELAXED) > 0 ? 1 : MOST_TRIES;

	for (uint32_t i = 0; i < tries; i++) {
		wait_until_idle(NAPS, false);
		hold_calls(true);
		if (wait_until_idle(NAPS, true) && !is_capturing() && cap_keyframe_finish())
			return;
		hold_calls(false);
	}
	__atomic_fetch_add(&left_out, 1, __ATOMIC_RELAXED);
}

void cap_keyframe_await(void)
{
	if (!is_enabled())
		return;
	__atomic_fetch_add(&under_way, 1, __ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&holding, __ATOMIC_SEQ_CST) > 0) && !holds) {
		__atomic_fetch_sub(&under_way, 1, __ATOMIC_SEQ_CST);
		pthread_mutex_lock(&hold_lock);
		while (__atomic_load_n(&holding, __ATOMIC_RELAXED) > 0)
			pthread_cond_wait(&released, &hold_lock);
		__atomic_fetch_add(&under_way, 1, __ATOMIC_SEQ_CST);
		pthread_mutex_unlock(&hold_lock);
	}
	is_counted = true;
	cap_clock_not_before(__atomic_load_n(&last_keyframe, __ATOMIC_RELAXED));
}

void cap_keyframe_note_call(const struct cap_call *c)
{
	uint64_t seen = __atomic_load_n(&last_start, __ATOMIC_RELAXED);

	if (is_counted && c->depth == 0) {
		is_counted = false;
		__atomic_fetch_sub(&under_way, 1, __ATOMIC_SEQ_CST);
	}

	while (cap_needs_order(&cap_self) && c->start > seen &&
	       !__atomic_compare_exchange_n(&last_start, &seen, c->start, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

/* Emulated clocks of other threads may be ahead. */
static uint64_t time_now(void)
{
	uint64_t now = cap_ticks(&cap_self), last = __atomic_load_n(&last_start, __ATOMIC_RELAXED);

	return now > last ? now : last + 1;
}

static void take_keyframe(unsigned flags)
{
	scoped(free_ptr) uint8_t *staged = malloc(STAGED);
	struct keyframe k = {time_now(), CAP_DIGEST_LIVE | CAP_DIGEST_UNANNOUNCED | flags, staged};

	if (!staged)
		return;
	cap_allocations_for_each(put_region, &k);
}

static bool is_wanted(int64_t number)
{
	const struct cap_control *c = cap_control();

	return number >= c->first_payload && number <= c->last_payload;
}

/* Returns true if a keyframe is stored when the iteration begins; *ret_ended: it is one after the
 * range. */
static bool is_stored(int64_t number, bool was_inside, bool *ret_ended)
{
	const struct cap_control *c = cap_control();
	*ret_ended = was_inside && !is_wanted(number);
	return *ret_ended ||
	       (is_wanted(number) &&
		(!was_inside ||
		 (c->keyframe_every > 0 && (number - c->first_payload) % c->keyframe_every == 0)));
}

void cap_keyframe_prepare(int64_t number)
{
	bool ended;

	if (is_enabled() && !is_capturing() &&
	    is_stored(number, __atomic_load_n(&is_inside, __ATOMIC_RELAXED), &ended))
		hold_when_idle();
	if (holds && cap_needs_order(&cap_self))
		cap_clock_not_before(__atomic_load_n(&last_start, __ATOMIC_RELAXED) + 1);
}

void cap_keyframe_iteration(int64_t number)
{
	bool was_inside = __atomic_load_n(&is_inside, __ATOMIC_RELAXED), ended;

	if (!is_enabled())
		return;
	if (!is_stored(number, was_inside, &ended))
		was_inside = is_wanted(number);
	else if (holds)
		take_keyframe(ended ? CAP_DIGEST_OUTPUT : 0);
	/* A first keyframe that was left out is stored when the next iteration begins. */
	if (holds || ended)
		was_inside = is_wanted(number);
	__atomic_store_n(&is_inside, was_inside, __ATOMIC_RELAXED);
	if (holds && cap_needs_order(&cap_self))
		__atomic_store_n(&last_keyframe, cap_ticks(&cap_self), __ATOMIC_RELAXED);
	if (holds)
		hold_calls(false);
}

void cap_keyframe_end(void)
{
	if (__atomic_exchange_n(&is_inside, false, __ATOMIC_RELAXED) &&
	    wait_until_idle(NAPS, true) && cap_keyframe_finish())
		take_keyframe(CAP_DIGEST_OUTPUT);
}
