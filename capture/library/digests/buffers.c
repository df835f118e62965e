/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/buffers.h"

#include "base/array.h"
#include "base/scope.h"
#include "capture/digest/gd128.h"
#include "capture/library/call/params.h"
#include "capture/library/device/contexts.h"
#include "capture/library/device/graph_memory.h"
#include "capture/library/digests/batch.h"
#include "capture/library/find/cu.h"

#define MOST_SUMS 4096 /* maximum number of page sums in one record */

static uint64_t piece_bytes;

void cap_buffers_start(uint64_t ring_bytes)
{
	uint64_t sums = (ring_bytes / 8 - sizeof(struct cap_digest_record)) / sizeof(struct gd128);

	piece_bytes = (sums < MOST_SUMS ? sums : MOST_SUMS) * GD128_PAGE_BYTES;
}

void cap_buffers_done(struct cap_buffers *b)
{
	free(b->items);
}

static void append_pieces(struct cap_buffers *b, uint64_t id, const struct cap_region *r,
			  uint64_t address, uint64_t bytes, int output)
{
	while (bytes > 0) {
		uint64_t n = bytes < piece_bytes ? bytes : piece_bytes;

		if (array_reserve(&b->items, b->n + 1, &b->cap) < 0)
			return;
		b->items[b->n++] = (struct cap_buffer){
			.id = id,
			.output = (uint32_t)output,
			.address = address,
			.bytes = n,
			.allocation = r->id,
			.offset_bytes = address - r->base,
			.is_external = cap_region_is_host_writable(r),
		};
		address += n;
		bytes -= n;
	}
}

/* Appends memory that kernels of b->context can access; other memory is counted as missed. */
static void append_reachable(struct cap_buffers *b, uint64_t id, const struct cap_region *r,
			     uint64_t address, uint64_t bytes, int output)
{
	if (cap_allocation_is_readable(r, cap_context_device(b->context)))
		append_pieces(b, id, r, address, bytes, output);
	else if (r->reach)
		cap_batch_count_missed(1, CU_PEER_ACCESS_NOT_ENABLED);
}

void cap_buffers_add_span(struct cap_buffers *b, uint64_t id, const struct cap_span *s,
			  bool by_host)
{
	uint64_t address = s->address, left = s->bytes;
	struct cap_region r;

	while (left > 0 && cap_allocation_find(address, &r)) {
		uint64_t end = r.base + r.bytes, n = end - address < left ? end - address : left;

		if (address == s->address && !cap_region_is_device(&r))
			return;
		if (by_host)
			append_pieces(b, id, &r, address, n, s->output);
		else
			append_reachable(b, id, &r, address, n, s->output);
		address += n;
		left -= n;
	}
	if (left > 0 && address > s->address)
		cap_batch_count_missed(1, CU_INVALID_VALUE);
}

void cap_buffers_add_spans(struct cap_buffers *b, uint64_t id, const struct cap_spans *s,
			   int output)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].output == output)
			cap_buffers_add_span(b, id, &s->items[i], false);
}

struct append {
	struct cap_buffers *buffers;
	uint64_t id;
	int output;
	bool hosts_only;
};

static bool is_listed(const struct cap_buffers *b, const struct cap_region *r)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->items[i].allocation == r->id)
			return true;
	return false;
}

static bool is_mapping(uint64_t address, struct cap_region *ret)
{
	return cap_allocation_find(address, ret) && ret->kind == CAP_MEMORY_MAPPED;
}

/* Mappings without a gap are one range for the program. */
static void append_pointed(uint64_t value, void *context)
{
	struct append *to = context;
	struct cap_region r, beside;
	bool is_mapped;

	if (value < 4096 || !cap_allocation_find(value, &r) || is_listed(to->buffers, &r) ||
	    (to->hosts_only && !cap_region_is_host_writable(&r)))
		return;
	is_mapped = r.kind == CAP_MEMORY_MAPPED;
	while (is_mapped && is_mapping(r.base - 1, &beside))
		r = beside;
	append_reachable(to->buffers, to->id, &r, r.base, r.bytes, to->output);
	while (is_mapped && is_mapping(r.base + r.bytes, &beside)) {
		r = beside;
		append_reachable(to->buffers, to->id, &r, r.base, r.bytes, to->output);
	}
}

void cap_buffers_add_params(struct cap_buffers *b, const struct cap_call *c,
			    const struct api_call *call, int output, bool hosts_only)
{
	const struct cap_params params = cap_params_of_call(c, call);
	struct append to = {b, c->id, output, hosts_only};

	cap_params_for_each_value(&params, append_pointed, &to);
}

struct live {
	struct append to;
	const struct cap_stream_ref *ref;
};

static void append_live(void *data, const struct cap_region *r)
{
	const struct live *l = data;

	if (cap_region_is_device(r) && r->context == l->ref->context &&
	    (l->ref->sync || !r->stream || r->stream == l->ref->stream))
		append_reachable(l->to.buffers, l->to.id, r, r->base, r->bytes, l->to.output);
}

void cap_buffers_add_live(struct cap_buffers *b, uint64_t id, const struct cap_stream_ref *ref,
			  int output)
{
	struct live l = {{b, id, output}, ref};

	cap_allocations_for_each(append_live, &l);
}

static void append_graph_memory(void *data, const struct cap_region *r)
{
	const struct append *to = data;

	if (!is_listed(to->buffers, r) && (!to->hosts_only || cap_region_is_host_writable(r)))
		append_reachable(to->buffers, to->id, r, r->base, r->bytes, to->output);
}

void cap_buffers_add_graph(struct cap_buffers *b, const struct cap_call *c,
			   const struct api_call *call, int output, bool hosts_only)
{
	const struct api_arg *exec = api_arg_of(call, API_MEANING_GRAPH_EXEC);
	struct append to = {b, c->id, output, hosts_only};

	if (exec)
		cap_graph_memory_for_each(c->words[exec->word], append_graph_memory, &to);
}

void cap_buffers_note_captured(const struct cap_call *c, const struct api_call *call, void *stream)
{
	scoped(cap_spans_done) struct cap_spans spans = {0};
	const struct cap_params params = cap_params_of_call(c, call);
	uint64_t graph = cap_graph_of_capture(stream);

	if (call->class == API_CLASS_LAUNCH)
		cap_params_for_each_value(&params, cap_graph_memory_note, &graph);
	else if (call->class == API_CLASS_COPY && cap_spans_from_call(c, call, &spans) == 0)
		for (size_t i = 0; i < spans.n; i++)
			cap_graph_memory_note(spans.items[i].address, &graph);
}
