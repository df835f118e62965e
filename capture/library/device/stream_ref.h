/* SPDX-License-Identifier: Apache-2.0 */

/* A reference to the stream of a call. Equal references mean the same stream. Any thread. */
#pragma once

#include "capture/library/call/hook.h"
#include "capture/library/find/cu.h"
#include "formats/api/api.h"

#include <stdbool.h>

struct cap_stream_ref {
	void *context;
	void *stream;	 /* never 0: CU_LEGACY_STREAM or CU_PER_THREAD_STREAM instead */
	uint32_t thread; /* owner of CU_PER_THREAD_STREAM: cap_stream_thread(); else 0 */
	uint8_t sync;	 /* the call has no stream: it waits for its operation */
};

static inline bool cap_stream_is_default(const void *stream)
{
	return stream == CU_LEGACY_STREAM || stream == CU_PER_THREAD_STREAM;
}

/* Returns the number of the calling thread, for `thread`. */
uint32_t cap_stream_thread(void);

/* Makes a reference from a handle; 0 is a default stream: per-thread, or legacy. Sets the context
 * for default streams only: for others the driver would have to be queried. */
void cap_stream_ref_from_handle(void *stream, bool per_thread, struct cap_stream_ref *ret);
/* Makes such a reference to the stream of a call. */
void cap_stream_ref_no_context(const struct cap_call *c, const struct api_call *call,
			       struct cap_stream_ref *ret);
/* Makes a reference to the stream of a call, with its context. */
void cap_stream_ref_from_call(const struct cap_call *c, const struct api_call *call,
			      struct cap_stream_ref *ret);

static inline bool cap_stream_ref_equal(const struct cap_stream_ref *a,
					const struct cap_stream_ref *b)
{
	return a->stream == b->stream && a->thread == b->thread && a->context == b->context;
}

/* Returns false for the per-thread stream of another thread. */
bool cap_stream_ref_is_reachable(const struct cap_stream_ref *ref);

/* Returns true if the stream is in capture. Costs one load while no stream of the process is in
 * capture. */
bool cap_stream_ref_is_capturing(const struct cap_stream_ref *ref);
