/* SPDX-License-Identifier: Apache-2.0 */

/* Refers to the stream that a call puts its work on. Equal references mean the same stream. Any
 * thread. */
#pragma once

#include "capture/library/call/hook.h"
#include "capture/library/find/cu.h"
#include "formats/api/api.h"

#include <stdbool.h>

struct cap_stream_ref {
	void *context;
	void *stream;	 /* never 0: CU_LEGACY_STREAM or CU_PER_THREAD_STREAM instead */
	uint32_t thread; /* owner of CU_PER_THREAD_STREAM: cap_stream_thread(); else 0 */
	uint8_t sync;	 /* the call has no stream: it waits for its work */
};

static inline bool cap_stream_is_default(const void *stream)
{
	return stream == CU_LEGACY_STREAM || stream == CU_PER_THREAD_STREAM;
}

/* The number of the calling thread, as in `thread`. */
uint32_t cap_stream_thread(void);

/* The stream of that handle; 0 is a default stream: the thread's own, or the legacy one. The
 * context is set for default streams only: for others the driver would have to be asked. */
void cap_stream_ref_named(void *stream, bool per_thread, struct cap_stream_ref *ret);
/* The same for the stream of a call. */
void cap_stream_ref_no_context(const struct cap_call *c, const struct api_call *call,
			       struct cap_stream_ref *ret);
/* The stream of a call, with its context. */
void cap_stream_ref_of(const struct cap_call *c, const struct api_call *call,
		       struct cap_stream_ref *ret);

static inline bool cap_stream_ref_equal(const struct cap_stream_ref *a,
					const struct cap_stream_ref *b)
{
	return a->stream == b->stream && a->thread == b->thread && a->context == b->context;
}

/* False for the per-thread stream of another thread. */
bool cap_stream_ref_is_reachable(const struct cap_stream_ref *ref);

/* Whether the stream is being captured into a graph. Costs one load while no stream of the process
 * is captured. */
bool cap_stream_ref_is_capturing(const struct cap_stream_ref *ref);
