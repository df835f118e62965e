/* SPDX-License-Identifier: Apache-2.0 */

/* Decides which buffers are digested, and when (doc/capture.md, Digests).
 *
 * Buffers that a call reads become pending on its stream before the call, buffers that it wrote
 * after it. Pending digests are launched before any call that may change the buffers, or that lets
 * other streams change them.
 */
#include "capture/library/digests/digests.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/digest/gd128.h"
#include "capture/library/device/allocations.h"
#include "capture/library/device/collector.h"
#include "capture/library/device/contexts.h"
#include "capture/library/digests/batch.h"
#include "capture/library/digests/buffers.h"
#include "capture/library/digests/payload.h"
#include "capture/library/digests/pending.h"
#include "capture/library/find/cu.h"
#include "capture/library/find/emulated.h"
#include "capture/library/ring/ring.h"
#include "capture/library/times/spans.h"
#include "capture/ring.h"

#include <pthread.h>

static unsigned level; /* enum cap_digest_level */

/* What collectives of an open group write. */
struct grouped {
	struct cap_stream_ref ref;
	struct cap_buffer buffer;
	bool reduced; /* is_reduced() */
};
static __thread struct {
	int depth;
	struct grouped *items;
	size_t n, cap;
} group;

/* Calls of NCCL's that go on, in which collectives are launched. */
static __thread int exchanges;

/* ---- copies of small pageable memory */

/* The driver knows of it, so it may be a device's, though nobody saw it made: nodes of a graph make
 * memory, and so do calls that go by unseen. */
static int is_of_driver(uint64_t address)
{
	unsigned type;

	return cap_cu.cuPointerGetAttribute(&type, CU_POINTER_MEMORY_TYPE, address) != 1;
}

/* Pageable memory of the host has been read, or written, when the call returns: so few bytes are
 * digested here and now, which costs less than a launch. NULL: not so. */
static const void *pageable(const struct cap_span *s)
{
	struct cap_region r;

	return s->bytes <= CAP_HOST_BYTES && !cap_allocation_find(s->address, &r) &&
			       !is_of_driver(s->address)
		       ? (const void *)s->address
		       : NULL;
}

/* A device that reaches pageable memory itself may write it when the call has returned. */
static int writes_later(const struct cap_call *c, const struct cap_region *r)
{
	int reaches = 0;

	return api_arg_of(api_call(c->api), API_MEANING_STREAM) && r->device >= 0 &&
	       (cap_cu.cuDeviceGetAttribute(&reaches, CU_PAGEABLE_MEMORY_ACCESS, r->device) ||
		reaches);
}

/* A copy of one span between pageable memory and a device: 1 when it is done with. `when`: 0 before
 * the call, 1 after it. */
static int small_copy(const struct cap_call *c, const struct cap_spans *s, int when)
{
	const struct cap_span *host, *device;
	const void *data;
	scoped(cap_buffers_done) struct cap_buffers b = {0};
	struct cap_region r;

	if (s->n != 2)
		return 0;
	device = &s->items[pageable(&s->items[0]) ? 1 : 0];
	host = &s->items[device == s->items];
	data = pageable(host);
	if (!data || !cap_allocation_find(device->address, &r) || !cap_region_is_device(&r))
		return 0;
	if (!device->output && writes_later(c, &r))
		return 0;
	/* To the device: as it is before. From the device: as it came. */
	if (device->output == when)
		return 1;
	cap_buffers_pieces(&b, c->id, &r, device->address, device->bytes, device->output);
	cap_batch_announce(c->id, b.n);
	for (size_t i = 0; i < b.n; i++) {
		cap_batch_host(&b.items[i], data);
		cap_payload_host(&b.items[i], data);
	}
	return 1;
}

/* ---- what is wanted of a call */

static int is_host_copy(const struct cap_spans *s)
{
	int host = 0, device = 0;
	struct cap_region r;

	for (size_t i = 0; i < s->n; i++) {
		if (cap_allocation_find(s->items[i].address, &r) && cap_region_is_device(&r))
			device = 1;
		else
			host = 1;
	}
	return host && device;
}

/* Appends the buffers of the call before (0) or after (1) it. */
static void collect(struct cap_buffers *b, const struct cap_call *c, const struct api_call *call,
		    const struct cap_stream_ref *ref, int when)
{
	scoped(cap_spans_done) struct cap_spans spans = {0};

	switch (call->class) {
	case API_CLASS_LAUNCH:
		if (level == CAP_DIGEST_LAUNCH)
			cap_buffers_params(b, c, call, when);
		return;
	case API_CLASS_GRAPH_LAUNCH:
		if (level == CAP_DIGEST_LAUNCH)
			cap_buffers_live(b, c->id, ref, when);
		return;
	case API_CLASS_SET:
		if (level == CAP_DIGEST_LAUNCH && cap_spans_of(c, call, &spans) == 0)
			cap_buffers_spans(b, c->id, &spans, when);
		return;
	case API_CLASS_COPY:
		if (cap_spans_of(c, call, &spans) < 0 || small_copy(c, &spans, when))
			return;
		if (level == CAP_DIGEST_LAUNCH || is_host_copy(&spans))
			cap_buffers_spans(b, c->id, &spans, when);
		return;
	case API_CLASS_COLLECTIVE:
	case API_CLASS_P2P:
		if (cap_spans_of(c, call, &spans) == 0)
			cap_buffers_spans(b, c->id, &spans, when);
		return;
	default:
		return;
	}
}

/* Copies and collectives change nothing but what they write. */
static int flush_written(const struct cap_call *c, const struct api_call *call)
{
	scoped(cap_spans_done) struct cap_spans spans = {0};
	int r = cap_spans_of(c, call, &spans);

	for (size_t i = 0; i < spans.n; i++)
		if (spans.items[i].output)
			cap_pending_flush_range(spans.items[i].address, spans.items[i].bytes);
	return r;
}

static int is_exchange(const struct api_call *call)
{
	return call->class == API_CLASS_COLLECTIVE || call->class == API_CLASS_P2P;
}

/* In ref, other collectives leave what they read as it was. */
static bool is_reduced(const struct api_call *call)
{
	return call->class == API_CLASS_COLLECTIVE &&
	       (strstr(call->name, "Reduce") || strstr(call->name, "AlltoAll"));
}

static int launches_exchanges(const struct api_call *call)
{
	return is_exchange(call) || call->class == API_CLASS_GROUP_END;
}

/* Everything else might change anything, but what NCCL does within a call. */
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

/* What is pending was launched. */
static void before_end(struct cap_call *c, const struct api_call *call)
{
	void *context = cap_context_ending(c, call);

	c->notes.digests_context = context;
	if (context)
		cap_batch_await(context);
}

static void before_call(struct cap_call *c, const struct api_call *call)
{
	scoped(cap_buffers_done) struct cap_buffers b = {0};
	struct cap_stream_ref ref;

	cap_stream_ref_of(c, call, &ref);
	if (cap_stream_ref_is_capturing(&ref))
		return;
	b.context = ref.context;
	flush_before(c, call, &ref);
	if (c->class == API_CLASS_DESTROY)
		before_end(c, call);
	if (c->paused)
		return;
	collect(&b, c, call, &ref, 0);
	cap_batch_announce(c->id, b.n);
	cap_pending_add(&ref, b.items, b.n);
	if (is_reduced(call) && group.depth == 0)
		flush_written(c, call);
	else if (!is_exchange(call) && b.n > 0 && call->class != API_CLASS_COPY)
		cap_pending_flush(&ref);
}

/* What the open group is about to overwrite. */
static void flush_group(void)
{
	for (size_t i = 0; i < group.n; i++)
		if (group.items[i].reduced)
			cap_pending_flush_range(group.items[i].buffer.address,
						group.items[i].buffer.bytes);
}

/* A wait for an event changes nothing, but may make its stream one that is captured. */
static int is_harmless(const struct cap_call *c)
{
	return c->class == API_CLASS_EVENT_WAIT &&
	       __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) == 0;
}

static void before(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);

	if (!call || is_harmless(c) || c->class == API_CLASS_ALLOC)
		return;
	cap_clock_pause();
	if (call->class == API_CLASS_GROUP_BEGIN)
		group.depth++;
	else if (call->class == API_CLASS_GROUP_END && group.depth == 1)
		flush_group();
	else if (call->class != API_CLASS_GROUP_END)
		before_call(c, call);
	exchanges += launches_exchanges(call);
	cap_clock_resume();
}

/* The group's collectives are under way. */
static void group_ended(void)
{
	if (group.depth > 0 && --group.depth > 0)
		return;
	for (size_t i = 0; i < group.n; i++)
		cap_pending_add(&group.items[i].ref, &group.items[i].buffer, 1);
	group.n = 0;
}

static void after_call(struct cap_call *c, const struct api_call *call)
{
	scoped(cap_buffers_done) struct cap_buffers b = {0};
	struct cap_stream_ref ref;

	cap_stream_ref_of(c, call, &ref);
	if (cap_stream_ref_is_capturing(&ref))
		return;
	b.context = ref.context;
	collect(&b, c, call, &ref, 1);
	cap_batch_announce(c->id, b.n);
	if (group.depth == 0) {
		cap_pending_add(&ref, b.items, b.n);
		return;
	}
	for (size_t i = 0; i < b.n; i++) {
		if (array_reserve(&group.items, group.n + 1, &group.cap) < 0)
			return;
		group.items[group.n++] = (struct grouped){ref, b.items[i], is_reduced(call)};
	}
}

/* Before the first thing is launched there is memory. */
static void prepare(void)
{
	void *context;

	if (cap_cu.cuCtxGetCurrent(&context) == 0)
		cap_batch_prepare(context);
}

static void after(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);

	if (!call)
		return;
	cap_clock_pause();
	exchanges -= launches_exchanges(call);
	if (call->class == API_CLASS_GROUP_END)
		group_ended();
	else if (c->class == API_CLASS_ALLOC)
		prepare();
	else if (c->class == API_CLASS_DESTROY && c->notes.digests_context &&
		 cap_context_ended(c, call))
		cap_batch_forget(c->notes.digests_context);
	else if (api_succeeded(call, c->result) && !c->paused)
		after_call(c, call);
	cap_clock_resume();
}

/* ---- the ends of iterations, threads and processes */

/* All that lives, once everything under way is done, and before anything else begins. */
static void all_live(uint64_t id)
{
	scoped(cap_buffers_done) struct cap_buffers b = {0};
	struct cap_stream_ref ref = {.stream = CU_LEGACY_STREAM, .sync = 1};

	if (cap_cu.cuCtxGetCurrent(&ref.context) || !ref.context || cap_cu.cuCtxSynchronize())
		return;
	b.context = ref.context;
	cap_buffers_live(&b, id, &ref, 1);
	cap_batch_announce(id, b.n);
	cap_batch_launch(&ref, b.items, b.n);
	cap_cu.cuStreamSynchronize(ref.stream);
}

static void iteration(int64_t number, uint64_t id)
{
	cap_clock_pause();
	cap_pending_flush(NULL);
	/* Waiting for the device would end a capture. */
	if (level == CAP_DIGEST_STEP &&
	    __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) == 0)
		all_live(id);
	cap_payload_iteration(number);
	cap_clock_resume();
}

static void thread_end(void)
{
	free(group.items);
	memset(&group, 0, sizeof(group));
}

static void end(void)
{
	cap_clock_pause();
	cap_pending_flush(NULL);
	cap_clock_resume();
}

static int start(void)
{
	int r;

	level = cap_control()->digest_level;
	if (level == CAP_DIGEST_NONE)
		return -ENOTSUP;
	cap_buffers_start(cap_control()->ring_bytes);
	r = cap_batch_start();
	return r < 0 ? r : cap_collector_add(cap_batch_collect);
}

#define BIT(class) (1ull << API_CLASS_##class)
#define ORDERING                                                                                   \
	(BIT(LAUNCH) | BIT(COPY) | BIT(SET) | BIT(PREFETCH) | BIT(HOST_CALL) | BIT(MEMORY_OP) |    \
	 BIT(GRAPH_LAUNCH) | BIT(EVENT_RECORD) | BIT(STREAM_QUERY) | BIT(SYNC) | BIT(FREE) |       \
	 BIT(UNMAP) | BIT(DESTROY) | BIT(CAPTURE_BEGIN) | BIT(CAPTURE_END) | BIT(EVENT_WAIT) |     \
	 BIT(ALLOC))

const struct cap_hook cap_digests = {
	.name = "digests",
	.classes = ORDERING | BIT(COLLECTIVE) | BIT(P2P) | BIT(GROUP_BEGIN) | BIT(GROUP_END),
	.always = ORDERING | BIT(GROUP_BEGIN) | BIT(GROUP_END),
	.start = start,
	.before = before,
	.after = after,
	.iteration = iteration,
	.thread_end = thread_end,
	.end = end,
	.ended = cap_batch_end,
};
