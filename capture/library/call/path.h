/* SPDX-License-Identifier: Apache-2.0 */

/* Steps of every recorded call, in order. Used by call/call.c and entry/launch.h. */
#pragma once

#include "capture/library/ring/ticks.h"

static CAP_INLINE bool cap_may_record(const struct cap_thread *t)
{
	return likely(__atomic_load_n(&cap_live.is_recording, __ATOMIC_RELAXED)) &&
	       likely(!(__atomic_load_n(t->paused, __ATOMIC_RELAXED) | t->writing | t->hooking));
}

/* Returns true if a hook handles calls of that class; the hook's initialisation is then visible. */
static CAP_INLINE bool cap_is_hooked(uint32_t class)
{
	return __atomic_load_n(&cap_process.hooked, __ATOMIC_ACQUIRE) >> class & 1;
}

/* Returns the id of a new call; `writing` is set. */
static CAP_INLINE uint64_t cap_call_begin(struct cap_thread *t, uint8_t *ret_depth)
{
	uint64_t id = t->next_id++;

	__atomic_store_n(&t->ring->last_call, id, __ATOMIC_RELAXED);
	*ret_depth = (uint8_t)t->depth++;
	return id;
}

/* Returns the start of the call; the last step before it. */
static CAP_INLINE uint64_t cap_call_start(const struct cap_thread *t, uint32_t api, uint8_t depth)
{
	uint64_t start = cap_ticks(t);

	if (depth == 0)
		__atomic_store_n(&t->ring->current_api, api + 1, __ATOMIC_RELAXED);
	return start;
}

/* Ends the call. Returns false if its thread ended its ring within the call, or is now a forked
 * child. */
static CAP_INLINE bool cap_call_end(struct cap_thread *t, uint8_t depth)
{
	t->depth--;
	if (unlikely(!t->ring || !cap_is_alive()))
		return false;
	if (depth == 0)
		__atomic_store_n(&t->ring->current_api, 0, __ATOMIC_RELAXED);
	return true;
}
