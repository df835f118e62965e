/* SPDX-License-Identifier: Apache-2.0 */

/* Where a call puts its work: a stream, by a name that is the same for all who mean it. */
#pragma once

#include "capture/library/device/cu.h"
#include "capture/library/device/hook.h"
#include "formats/api/api.h"

#include <stdbool.h>

struct cap_place {
	void *context;
	void *stream;	 /* never 0: CU_LEGACY_STREAM or CU_PER_THREAD_STREAM instead */
	uint32_t thread; /* whose stream CU_PER_THREAD_STREAM is; else 0 */
	uint8_t sync;	 /* the call has no stream: it waits for its work */
};

static inline int cap_place_is_default(const void *stream)
{
	return stream == CU_LEGACY_STREAM || stream == CU_PER_THREAD_STREAM;
}

/* The number of the calling thread, as in `thread`. */
uint32_t cap_place_thread(void);

/* The stream of that handle; 0 is a default stream, the thread's own or the legacy one. The context
 * is that of a default stream; that of another one is NULL, since it would have to be asked for. */
void cap_place_named(void *stream, bool per_thread, struct cap_place *ret);

/* The same of a call that the table describes. */
void cap_place_stream(const struct cap_call *c, const struct api_call *call, struct cap_place *ret);

/* The same, with the context of any stream. */
void cap_place_of(const struct cap_call *c, const struct api_call *call, struct cap_place *ret);

static inline int cap_place_same(const struct cap_place *a, const struct cap_place *b)
{
	return a->stream == b->stream && a->thread == b->thread && a->context == b->context;
}

/* Whether the calling thread reaches that stream: another thread's own it does not. */
int cap_place_reachable(const struct cap_place *p);

/* The first argument of that meaning, or NULL. */
const struct api_arg *cap_arg_of(const struct api_call *call, enum api_meaning meaning);

/* Its device; -1 where there is none. */
int cap_place_device(void *context);

/* Makes `context` the current one if it is not: 1, and cap_place_leave() is to follow; else 0. */
int cap_place_enter(void *context);
void cap_place_leave(int entered);

/* Whether the stream is being captured into a graph; false at the cost of a load while no stream of
 * the process is. */
int cap_place_capturing(const struct cap_place *p);
