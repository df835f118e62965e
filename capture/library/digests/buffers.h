/* SPDX-License-Identifier: Apache-2.0 */

/* The buffers of one call: the ranges that it reads or writes, cut at allocations; each gets a
 * digest. Memory that kernels of the context cannot access is left out and counted, since the
 * digest kernel would fault. A list belongs to one thread; if memory for the list is exhausted, the
 * rest is left out. */
#pragma once

#include "capture/library/call/hook.h"
#include "capture/library/device/allocations.h"
#include "capture/library/device/stream_ref.h"
#include "capture/library/digests/buffer.h"
#include "capture/library/times/spans.h"

#include <stdbool.h>

struct cap_buffers {
	struct cap_buffer *items; /* owned */
	size_t n, cap;
	void *context; /* whose kernels will read them */
};

/* Called once before the other functions: the record of a buffer must fit into a ring of
 * `ring_bytes`. */
void cap_buffers_start(uint64_t ring_bytes);
void cap_buffers_done(struct cap_buffers *b);

/* Functions below append buffers that call `id` reads (output 0) or wrote (1). A buffer may span
 * several mappings; memory behind them is counted as missed.
 *
 * A span, if it begins in device memory; `by_host`: the host reads it. */
void cap_buffers_add_span(struct cap_buffers *b, uint64_t id, const struct cap_span *s,
			  bool by_host);
/* Spans in device memory: */
void cap_buffers_add_spans(struct cap_buffers *b, uint64_t id, const struct cap_spans *s,
			   int output);
/* Allocations that parameters of a launch point into, each once, and mappings beside them. With
 * `hosts_only` only memory that the host can write. */
void cap_buffers_add_params(struct cap_buffers *b, const struct cap_call *c,
			    const struct api_call *call, int output, bool hosts_only);
/* All known allocations that exist at this point of the stream: */
void cap_buffers_add_live(struct cap_buffers *b, uint64_t id, const struct cap_stream_ref *ref,
			  int output);
/* Memory that the launched graph uses: */
void cap_buffers_add_graph(struct cap_buffers *b, const struct cap_call *c,
			   const struct api_call *call, int output, bool hosts_only);

/* Notes the memory that a captured launch or copy uses, for cap_buffers_add_graph(). */
void cap_buffers_note_captured(const struct cap_call *c, const struct api_call *call, void *stream);
