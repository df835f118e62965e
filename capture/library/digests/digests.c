/* SPDX-License-Identifier: Apache-2.0 */

/* Decides which buffers are digested, and when (doc/design/capture.md, Digests).
 *
 * Buffers that a call reads become pending on its stream before the call, buffers that it wrote
 * after it. Pending digests are launched before any call that may change the buffers, or that lets
 * other streams change them.
 */
#include "capture/library/digests/digests.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/library/device/allocations.h"
#include "capture/library/device/collector.h"
#include "capture/library/device/contexts.h"
#include "capture/library/digests/batch.h"
#include "capture/library/digests/buffers.h"
#include "capture/library/digests/keyframe.h"
#include "capture/library/digests/payload.h"
#include "capture/library/digests/pending.h"
#include "capture/library/find/cu.h"
#include "capture/library/find/emulated.h"
#include "capture/library/ring/ring.h"
#include "capture/library/ring/ticks.h"
#include "capture/library/times/spans.h"
#include "formats/raw/ring.h"

static unsigned level; /* enum cap_digest_level */

/* A buffer that a collective of an open group writes. */
struct grouped {
	struct cap_stream_ref ref;
	struct cap_buffer buffer;
};
static __thread struct {
	int depth;
	struct grouped *items;
	size_t n, cap;
} group;

/* number of nested NCCL calls in progress that launch collectives */
static __thread int exchanges;

/* ---- copies of small pageable memory */

/* Returns 1 if the driver knows the memory. It may be device memory although no call allocated it:
 * nodes of a graph allocate memory, and so do calls that were not seen. */
static int is_known_to_driver(uint64_t address)
{
	unsigned type;

	return cap_cu.cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, address) != 1;
}

/* Returns a small range of pageable host memory, which the call has read or written before it
 * returns: the calling thread digests it, which costs less than a launch. NULL: not such a
 * range. */
static const void *small_pageable(const struct cap_span *s)
{
	struct cap_region r;

	return s->bytes <= CAP_HOST_BYTES && !cap_allocation_find(s->address, &r) &&
			       !is_known_to_driver(s->address)
		       ? (const void *)s->address
		       : NULL;
}

/* A device that accesses pageable memory directly may write it after the call has returned. */
static int writes_later(const struct cap_call *c, const struct cap_region *r)
{
	int reaches = 0;

	return api_arg_of(api_call(c->api), API_MEANING_STREAM) && r->device >= 0 &&
	       (cap_cu.cuDeviceGetAttribute(&reaches, CU_PAGEABLE_MEMORY_ACCESS, r->device) ||
		reaches);
}

/* Digests a copy of one span between small pageable memory and a device. `when`: 0 before the call,
 * 1 after it. Returns 0 if the call is not such a copy. */
static int digest_small_copy(const struct cap_call *c, const struct cap_spans *s, int when)
{
	const struct cap_span *host, *device;
	const uint8_t *data;
	scoped(cap_buffers_done) struct cap_buffers b = {0};
	struct cap_region r;

	if (s->n != 2)
		return 0;
	device = &s->items[small_pageable(&s->items[0]) ? 1 : 0];
	host = &s->items[device == s->items];
	data = small_pageable(host);
	if (!data || !cap_allocation_find(device->address, &r) || !cap_region_is_device(&r))
		return 0;
	if (!device->output && writes_later(c, &r))
		return 0;
	/* To a device: before the call. From a device: after it. */
	if (device->output == when)
		return 1;
	cap_buffers_add_span(&b, c->id, device, true);
	cap_batch_announce(c->id, b.n);
	for (size_t i = 0; i < b.n; i++) {
		b.items[i].is_external = true;
		cap_batch_digest_host(&b.items[i], data);
		cap_payload_store_host(&b.items[i], data);
		data += b.items[i].bytes;
	}
	return 1;
}

/* ---- buffers of a call */

static int is_host_copy(const struct cap_spans *s)
{
	int host = 0, device = 0;
	struct cap_region r;

	for (size_t i = 0; i < s->n; i++) {
		bool is_known = cap_allocation_find(s->items[i].address, &r);

		device |= is_known && cap_region_is_device(&r);
		host |= !is_known || cap_region_is_host_writable(&r);
	}
	return host && device;
}

static void add_external(struct cap_buffers *b, uint64_t id, const struct cap_spans *s, int when)
{
	size_t first = b->n;

	cap_buffers_add_spans(b, id, s, when);
	for (size_t i = first; i < b->n; i++)
		b->items[i].is_external = true;
}

/* Appends the buffers of the call before (0) or after (1) it. */
static void add_buffers(struct cap_buffers *b, const struct cap_call *c,
			const struct api_call *call, const struct cap_stream_ref *ref, int when)
{
	scoped(cap_spans_done) struct cap_spans spans = {0};

	switch (call->class) {
	case API_CLASS_LAUNCH:
		/* A launch within a collective: the buffers of the collective are known exactly. */
		if (exchanges == 0 && (level == CAP_DIGEST_LAUNCH || when == 0))
			cap_buffers_add_params(b, c, call, when, level != CAP_DIGEST_LAUNCH);
		return;
	case API_CLASS_GRAPH_LAUNCH:
		if (level == CAP_DIGEST_LAUNCH)
			cap_buffers_add_live(b, c->id, ref, when);
		if (level == CAP_DIGEST_LAUNCH || when == 0)
			cap_buffers_add_graph(b, c, call, when, level != CAP_DIGEST_LAUNCH);
		return;
	case API_CLASS_SET:
		if (level == CAP_DIGEST_LAUNCH && cap_spans_from_call(c, call, &spans) == 0)
			cap_buffers_add_spans(b, c->id, &spans, when);
		return;
	case API_CLASS_COPY:
		if (cap_spans_from_call(c, call, &spans) < 0 || digest_small_copy(c, &spans, when))
			return;
		if (is_host_copy(&spans))
			add_external(b, c->id, &spans, when);
		else if (level == CAP_DIGEST_LAUNCH)
			cap_buffers_add_spans(b, c->id, &spans, when);
		return;
	case API_CLASS_COLLECTIVE:
	case API_CLASS_P2P:
		if (cap_spans_from_call(c, call, &spans) == 0)
			add_external(b, c->id, &spans, when);
		return;
	default:
		return;
	}
}

/* Flushes buffers that the call overwrites: copies and collectives change no other memory. */
static int flush_written(const struct cap_call *c, const struct api_call *call)
{
	scoped(cap_spans_done) struct cap_spans spans = {0};
	int r = cap_spans_from_call(c, call, &spans);

	for (size_t i = 0; i < spans.n; i++)
		if (spans.items[i].output)
			cap_pending_flush_range(spans.items[i].address, spans.items[i].bytes);
	return r;
}

static int is_exchange(const struct api_call *call)
{
	return call->class == API_CLASS_COLLECTIVE || call->class == API_CLASS_P2P;
}

/* In `ref`, collectives other than these leave their input unchanged. */
static bool is_reduced(const struct api_call *call)
{
	return call->class == API_CLASS_COLLECTIVE &&
	       (strstr(call->name, "Reduce") || strstr(call->name, "AlltoAll"));
}

/* Returns true if the input of an in-place collective is digested before it. Level `launch`
 * distinguishes reads from writes of a collective, even of the same buffer. */
static bool digests_input_first(const struct api_call *call)
{
	return is_reduced(call) || (is_exchange(call) && level == CAP_DIGEST_LAUNCH);
}

static int launches_exchanges(const struct api_call *call)
{
	return is_exchange(call) || call->class == API_CLASS_GROUP_END;
}

/* Any other call may change any buffer, except nested calls that NCCL makes. */
static void flush_before(const struct cap_call *c, const struct api_call *call,
			 const struct cap_stream_ref *ref)
{
	if (is_exchange(call) && !is_reduced(call))
		flush_written(c, call);
	if (is_exchange(call) || exchanges > 0)
		return;
	if (call->class == API_CLASS_COPY && flush_written(c, call) == 0)
		return;
	if (call->class == API_CLASS_SYNC || call->class == API_CLASS_STREAM_QUERY ||
	    call->class == API_CLASS_EVENT_RECORD || call->class == API_CLASS_LAUNCH ||
	    call->class == API_CLASS_GRAPH_LAUNCH || call->class == API_CLASS_SET) {
		if (!api_arg_of(call, API_MEANING_EVENT) || call->class == API_CLASS_EVENT_RECORD)
			cap_pending_flush(api_arg_of(call, API_MEANING_CONTEXT) ||
							  strstr(call->name, "CtxSync")
						  ? NULL
						  : ref);
	} else {
		cap_pending_flush(NULL);
	}
}

/* Waits for the digests of a context that may end. Pending ones were launched before. */
static void before_end(struct cap_call *c, const struct api_call *call)
{
	void *context = cap_context_to_destroy(c, call);

	c->notes.digests_context = context;
	if (context)
		cap_batch_wait_context(context);
}

static void digest_inputs(struct cap_call *c, const struct api_call *call)
{
	scoped(cap_buffers_done) struct cap_buffers b = {0};
	struct cap_stream_ref ref;

	cap_stream_ref_from_call(c, call, &ref);
	if (cap_stream_ref_is_capturing(&ref)) {
		if (exchanges == 0)
			cap_buffers_note_captured(c, call, ref.stream);
		return;
	}
	b.context = ref.context;
	flush_before(c, call, &ref);
	if (c->class == API_CLASS_DESTROY)
		before_end(c, call);
	if (c->paused)
		return;
	add_buffers(&b, c, call, &ref, 0);
	cap_batch_announce(c->id, b.n);
	cap_pending_add(&ref, b.items, b.n);
	if (digests_input_first(call) && group.depth == 0)
		flush_written(c, call);
	else if (!is_exchange(call) && b.n > 0 && call->class != API_CLASS_COPY)
		cap_pending_flush(&ref);
}

/* Flushes buffers that collectives of the open group will overwrite. */
static void flush_group(void)
{
	for (size_t i = 0; i < group.n; i++)
		cap_pending_flush_range(group.items[i].buffer.address, group.items[i].buffer.bytes);
}

/* A wait for an event changes no buffer; but within a capture it may add its stream to it. */
static int is_harmless(const struct cap_call *c)
{
	return c->class == API_CLASS_EVENT_WAIT &&
	       __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) == 0;
}

#define BIT(class) (1ull << API_CLASS_##class)
#define WAITING (BIT(SYNC) | BIT(STREAM_QUERY)) /* calls that change nothing */

static void digests_before(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);

	if (call && c->depth == 0 && group.depth == 0 && !(1ull << c->class & WAITING))
		cap_keyframe_await();
	if (!call || is_harmless(c) || c->class == API_CLASS_ALLOC)
		return;
	cap_clock_pause();
	if (call->class == API_CLASS_GROUP_BEGIN)
		group.depth++;
	else if (call->class == API_CLASS_GROUP_END && group.depth == 1)
		flush_group();
	else if (call->class != API_CLASS_GROUP_END)
		digest_inputs(c, call);
	exchanges += launches_exchanges(call);
	cap_clock_resume();
}

/* The collectives of the group were launched. */
static void group_ended(void)
{
	if (group.depth > 0 && --group.depth > 0)
		return;
	for (size_t i = 0; i < group.n; i++)
		cap_pending_add(&group.items[i].ref, &group.items[i].buffer, 1);
	group.n = 0;
}

static void digest_results(struct cap_call *c, const struct api_call *call)
{
	scoped(cap_buffers_done) struct cap_buffers b = {0};
	struct cap_stream_ref ref;

	cap_stream_ref_from_call(c, call, &ref);
	if (cap_stream_ref_is_capturing(&ref))
		return;
	b.context = ref.context;
	add_buffers(&b, c, call, &ref, 1);
	if (group.depth == 0 && exchanges == 0 && c->depth == 0)
		cap_payload_await(ref.context);
	cap_batch_announce(c->id, b.n);
	if (group.depth == 0 || !is_exchange(call)) {
		cap_pending_add(&ref, b.items, b.n);
		return;
	}
	for (size_t i = 0; i < b.n; i++) {
		if (array_reserve(&group.items, group.n + 1, &group.cap) < 0)
			return;
		group.items[group.n++] = (struct grouped){ref, b.items[i]};
	}
}

/* Prepares digests in the current context. Called on allocation, which precedes all launches. */
static void prepare_context(void)
{
	void *context;

	if (cap_cu.cuCtxGetCurrent(&context) == 0)
		cap_batch_prepare(context);
}

/* Calls that write buffers. After other calls the stream that they name may no longer exist. */
#define WRITING                                                                                    \
	(BIT(LAUNCH) | BIT(GRAPH_LAUNCH) | BIT(SET) | BIT(COPY) | BIT(COLLECTIVE) | BIT(P2P))

static void digests_after(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);

	if (!call)
		return;
	cap_clock_pause();
	cap_keyframe_note_call(c);
	exchanges -= launches_exchanges(call);
	if (call->class == API_CLASS_GROUP_END)
		group_ended();
	else if (c->class == API_CLASS_ALLOC)
		prepare_context();
	else if (c->class == API_CLASS_DESTROY && c->notes.digests_context &&
		 cap_context_is_destroyed(c, call)) {
		cap_batch_drop_context(c->notes.digests_context);
		cap_payload_drop_context(c->notes.digests_context);
	} else if (1ull << c->class & WRITING && api_succeeded(call, c->result) && !c->paused)
		digest_results(c, call);
	cap_clock_resume();
}

/* ---- the ends of iterations, threads and processes */

/* Digests all allocations after all previous operations, and before any later one. */
static void digest_all(uint64_t id)
{
	scoped(cap_buffers_done) struct cap_buffers b = {0};
	struct cap_stream_ref ref = {.stream = CU_LEGACY_STREAM, .sync = 1};
	uint64_t at = cap_ticks(&cap_self);

	if (cap_cu.cuCtxGetCurrent(&ref.context) || !ref.context || cap_cu.cuCtxSynchronize())
		return;
	b.context = ref.context;
	cap_buffers_add_live(&b, id, &ref, CAP_DIGEST_LIVE);
	for (size_t i = 0; i < b.n; i++)
		b.items[i].at = at;
	cap_batch_announce(id, b.n);
	cap_batch_launch(&ref, b.items, b.n);
	cap_cu.cuStreamSynchronize(ref.stream);
	cap_batch_collect(); /* before the times of later operations */
}

static void before_iteration(int64_t number)
{
	cap_clock_pause();
	cap_keyframe_prepare(number);
	cap_clock_resume();
}

static void begin_iteration(int64_t number, uint64_t id)
{
	cap_clock_pause();
	cap_pending_flush(NULL);
	/* Waiting for the device would end a capture; and the device may wait for this thread. */
	if (level == CAP_DIGEST_STEP &&
	    __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) == 0) {
		if (cap_keyframe_finish())
			digest_all(id);
		else
			cap_batch_count_missed(1, CU_NOT_READY);
	}
	cap_keyframe_iteration(number);
	cap_payload_iteration(number);
	cap_clock_resume();
}

static void thread_end(void)
{
	free(group.items);
	memset(&group, 0, sizeof(group));
}

static void flush_at_end(void)
{
	cap_clock_pause();
	cap_pending_flush(NULL);
	cap_keyframe_end();
	cap_clock_resume();
}

static int start_digests(void)
{
	int r;

	level = cap_control()->digest_level;
	if (level == CAP_DIGEST_NONE)
		return -ENOTSUP;
	cap_buffers_start(cap_control()->ring_bytes);
	r = cap_batch_start();
	if (r == 0)
		r = cap_collector_add(cap_batch_collect);
	return r < 0 || !cap_payload_is_enabled() ? r : cap_collector_add(cap_payload_collect);
}

#define ORDERING                                                                                   \
	(BIT(LAUNCH) | BIT(COPY) | BIT(SET) | BIT(PREFETCH) | BIT(HOST_CALL) | BIT(MEMORY_OP) |    \
	 BIT(GRAPH_LAUNCH) | BIT(EVENT_RECORD) | BIT(STREAM_QUERY) | BIT(SYNC) | BIT(FREE) |       \
	 BIT(UNMAP) | BIT(DESTROY) | BIT(CAPTURE_BEGIN) | BIT(CAPTURE_END) | BIT(EVENT_WAIT) |     \
	 BIT(ALLOC))

const struct cap_hook cap_digests = {
	.classes = ORDERING | BIT(COLLECTIVE) | BIT(P2P) | BIT(GROUP_BEGIN) | BIT(GROUP_END),
	.always = ORDERING | BIT(GROUP_BEGIN) | BIT(GROUP_END),
	.start = start_digests,
	.before = digests_before,
	.after = digests_after,
	.before_iteration = before_iteration,
	.iteration = begin_iteration,
	.thread_end = thread_end,
	.end = flush_at_end,
	.ended = cap_batch_end,
};
