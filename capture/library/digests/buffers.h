/* SPDX-License-Identifier: Apache-2.0 */

/* The buffers of one call: from bytes that it reads or writes to pieces of allocations, each of
 * which is a digest. What kernels of the context do not reach is counted, and left out: they must
 * not fault. One list, one thread; without memory the rest is left out. */
#pragma once

#include "capture/library/device/allocations.h"
#include "capture/library/device/hook.h"
#include "capture/library/digests/batch.h"
#include "capture/library/times/spans.h"

#include <stdbool.h>

struct cap_buffers {
	struct cap_buffer *items; /* owned */
	size_t n, cap;
	void *context; /* whose kernels are to read them */
};

/* Once, before all others: a piece's record must fit such a ring. */
void cap_buffers_start(uint64_t ring_bytes);
void cap_buffers_done(struct cap_buffers *b);

/* Memory of a device's, the other side of a copy with the host. */
bool cap_region_is_device(const struct cap_region *r);

/* Each appends what the call `id` reads (output 0) or wrote (1). Of [address, address + bytes) what
 * lies in the region, reached or not: */
void cap_buffers_pieces(struct cap_buffers *b, uint64_t id, const struct cap_region *r,
			uint64_t address, uint64_t bytes, int output);
/* Those of the spans that are a device's memory: */
void cap_buffers_spans(struct cap_buffers *b, uint64_t id, const struct cap_spans *s, int output);
/* Allocations that a pointer among a launch's parameters leads into, each once: */
void cap_buffers_params(struct cap_buffers *b, const struct cap_call *c,
			const struct api_call *call, int output);
/* All that lives, as far as it is known to in the order of the place: */
void cap_buffers_live(struct cap_buffers *b, uint64_t id, const struct cap_place *place,
		      int output);
