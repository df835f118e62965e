/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/buffers.h"

#include "base/array.h"
#include "capture/digest/gd128.h"
#include "capture/library/call/params.h"
#include "capture/library/device/contexts.h"
#include "capture/library/digests/batch.h"
#include "capture/library/find/cu.h"

#define LISTED 64
#define MOST_SUMS 4096 /* page sums in one record */

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

void cap_buffers_pieces(struct cap_buffers *b, uint64_t id, const struct cap_region *r,
			uint64_t address, uint64_t bytes, int output)
{
	uint64_t left = r->base + r->bytes - address;

	for (bytes = bytes < left ? bytes : left; bytes > 0;) {
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
		};
		address += n;
		bytes -= n;
	}
}

/* Appends memory that kernels of b->context can access; other memory is counted as missed. */
static void append_reachable(struct cap_buffers *b, uint64_t id, const struct cap_region *r,
			     uint64_t address, uint64_t bytes, int output)
{
	if (cap_allocation_reaches(r, cap_context_device(b->context)))
		cap_buffers_pieces(b, id, r, address, bytes, output);
	else if (r->reach)
		cap_batch_miss(1, CU_PEER_ACCESS_NOT_ENABLED);
}

bool cap_region_is_device(const struct cap_region *r)
{
	return r->kind != CAP_MEMORY_HOST && r->reach;
}

void cap_buffers_spans(struct cap_buffers *b, uint64_t id, const struct cap_spans *s, int output)
{
	struct cap_region r;

	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].output == output && cap_allocation_find(s->items[i].address, &r) &&
		    cap_region_is_device(&r))
			append_reachable(b, id, &r, s->items[i].address, s->items[i].bytes, output);
}

struct append {
	struct cap_buffers *buffers;
	uint64_t id;
	int output;
};

static void append_pointed(uint64_t value, void *context)
{
	struct append *to = context;
	struct cap_region r;

	if (value < 4096 || !cap_allocation_find(value, &r))
		return;
	for (size_t i = 0; i < to->buffers->n; i++)
		if (to->buffers->items[i].allocation == r.id)
			return;
	append_reachable(to->buffers, to->id, &r, r.base, r.bytes, to->output);
}

void cap_buffers_params(struct cap_buffers *b, const struct cap_call *c,
			const struct api_call *call, int output)
{
	struct append to = {b, c->id, output};

	cap_params_values(c, call, append_pointed, &to);
}

void cap_buffers_live(struct cap_buffers *b, uint64_t id, const struct cap_stream_ref *ref,
		      int output)
{
	struct cap_region some[LISTED];
	uint64_t from = 0;
	size_t n;

	do {
		n = cap_allocations_list(from, some, LISTED);
		for (size_t i = 0; i < n; i++)
			if (cap_region_is_device(&some[i]) && some[i].context == ref->context &&
			    (ref->sync || !some[i].stream || some[i].stream == ref->stream))
				append_reachable(b, id, &some[i], some[i].base, some[i].bytes,
						 output);
		if (n > 0)
			from = some[n - 1].base + 1;
	} while (n == LISTED);
}
