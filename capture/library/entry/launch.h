/* SPDX-License-Identifier: Apache-2.0 */

/* The fast path of cuLaunchKernel, by far the most frequent call with memory to copy: cap_launch().
 * Falls back to the general path, cap_launch_full(), if a hook other than `times` handles the
 * launch, if the ring does not contain the parameter layout yet, or if the ring is ordered. */
#pragma once

#include "capture/library/call/call.h"
#include "capture/library/call/path.h"
#include "capture/library/ring/layouts.h"
#include "capture/library/times/times.h"

/* Words of cuLaunchKernel. */
#define CAP_LAUNCH_PARAMS 9
#define CAP_LAUNCH_WORDS 11

/* Arguments as passed: the upper halves of narrow arguments are undefined. */
typedef int cap_launch_fn(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			  uint64_t, uint64_t, uint64_t, uint64_t);

/* Forwards and records the launch like any other call. The upper halves of narrow arguments are
 * zero. */
int cap_launch_full(uint32_t api, uint32_t traits, const struct cap_plan_step *plan,
		    cap_launch_fn *real, const uint64_t words[CAP_LAUNCH_WORDS]);

/* Returns true if at most `times` handles the launch, and in that case no stream is in capture. */
static CAP_INLINE bool cap_launch_is_short(uint32_t hooks)
{
	return likely(!(hooks & CAP_LAUNCH_CHAINED)) &&
	       likely(!hooks || !__atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED));
}

/* Begins the call and writes its parameters. Returns false and does nothing if the ring does not
 * contain the layout of the parameters yet, or if a parameter has neither 4 nor 8 bytes. */
static CAP_INLINE bool cap_launch_begin(struct cap_thread *t, uint32_t hooks, uint64_t function,
					void **params, uint64_t *ret_id, uint8_t *ret_depth)
{
	const struct cap_layout_entry *k;
	struct cap_params_record *r;

	if (unlikely(!cap_may_record(t) || !cap_launch_is_short(hooks) || !params) ||
	    cap_needs_order(t))
		return false;
	cap_set_writing(t, 1);
	k = cap_layout_find(t->layouts, function);
	if (unlikely(!k || !k->is_plain)) {
		cap_set_writing(t, 0);
		return false;
	}
	*ret_id = cap_call_begin(t, ret_depth);
	r = (void *)cap_write_space(t, k->head.bytes);
	if (likely(r)) {
		cap_params_fill_plain(r, k, CAP_LAUNCH_PARAMS, *ret_id, params);
		cap_write_publish(t, k->head.bytes);
	}
	cap_set_writing(t, 0);
	return true;
}

static CAP_INLINE int cap_launch(uint32_t api, uint32_t traits, const struct cap_plan_step *plan,
				 cap_launch_fn *real, uint64_t a0, uint64_t a1, uint64_t a2,
				 uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
				 uint64_t a8, uint64_t a9, uint64_t a10)
{
	const uint32_t bytes = sizeof(struct cap_call_record) + 8 * CAP_LAUNCH_WORDS;
	uint32_t hooks = __atomic_load_n(&cap_process.launch_hooks, __ATOMIC_ACQUIRE);
	struct cap_thread *t = &cap_self;
	struct cap_stream *timed = NULL;
	struct cap_call_record *r;
	uint64_t id, start, end;
	uint8_t depth;
	int result;

	if (unlikely(!cap_launch_begin(t, hooks, a0, (void **)a9, &id, &depth))) {
		const uint64_t words[] = {a0,		(uint32_t)a1, (uint32_t)a2, (uint32_t)a3,
					  (uint32_t)a4, (uint32_t)a5, (uint32_t)a6, (uint32_t)a7,
					  a8,		a9,	      a10};

		return cap_launch_full(api, traits, plan, real, words);
	}
	if (hooks & CAP_LAUNCH_TIMED)
		timed = cap_times_before_launch((void *)a8, traits & CAP_TRAITS_PER_THREAD);
	start = cap_call_start(t, api, depth);
	result = real(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10);
	end = cap_ticks(t);
	if (unlikely(!cap_call_end(t, depth)))
		return result;
	if (timed && result == 0)
		cap_times_after_launch(timed, id, start);
	r = (void *)cap_write_begin(t, bytes);
	if (unlikely(!r))
		return result;
	r->head = (struct cap_record){.bytes = bytes, .kind = CAP_CALL, .depth = depth};
	r->api = api;
	r->result = result;
	r->id = id;
	r->start = start;
	r->end = end;
	r->words[0] = a0;
	r->words[1] = (uint32_t)a1;
	r->words[2] = (uint32_t)a2;
	r->words[3] = (uint32_t)a3;
	r->words[4] = (uint32_t)a4;
	r->words[5] = (uint32_t)a5;
	r->words[6] = (uint32_t)a6;
	r->words[7] = (uint32_t)a7;
	r->words[8] = a8;
	r->words[9] = a9;
	r->words[10] = a10;
	cap_write_end(t, bytes);
	return result;
}
