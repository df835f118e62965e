/* SPDX-License-Identifier: Apache-2.0 */

/* The steps of the hot path, in their order: what call.c and launch.h are made of. */
#pragma once

#include "capture/library/ticks.h"

#define CAP_INLINE inline __attribute__((always_inline))

static CAP_INLINE bool cap_gates_open(const struct cap_thread *t)
{
	return likely(__atomic_load_n(&cap_live.on, __ATOMIC_RELAXED)) &&
	       likely(!(__atomic_load_n(t->paused, __ATOMIC_RELAXED) | t->writing | t->hooking));
}

/* Whether some hook wants calls of that class; then what the hook set up can be seen as well. */
static CAP_INLINE bool cap_is_hooked(uint32_t class)
{
	return __atomic_load_n(&cap_process.hooked, __ATOMIC_ACQUIRE) >> class & 1;
}

/* The id of a call that begins, of a thread that is writing. */
static CAP_INLINE uint64_t cap_begin(struct cap_thread *t, uint8_t *ret_depth)
{
	uint64_t id = t->next_id++;

	__atomic_store_n(&t->ring->last_call, id, __ATOMIC_RELAXED);
	*ret_depth = (uint8_t)t->depth++;
	return id;
}

/* When it starts; the last thing before it. */
static CAP_INLINE uint64_t cap_start(const struct cap_thread *t, uint32_t api, uint8_t depth)
{
	uint64_t start = cap_ticks(t);

	if (depth == 0)
		__atomic_store_n(&t->ring->current_api, api + 1, __ATOMIC_RELAXED);
	return start;
}

/* It has ended. False: its thread ended its ring within it, or is a forked child now. */
static CAP_INLINE bool cap_end(struct cap_thread *t, uint8_t depth)
{
	t->depth--;
	if (unlikely(!t->ring || !cap_is_alive()))
		return false;
	if (depth == 0)
		__atomic_store_n(&t->ring->current_api, 0, __ATOMIC_RELAXED);
	return true;
}
