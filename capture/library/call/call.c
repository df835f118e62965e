/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/call/call.h"

#include "capture/library/call/chain.h"
#include "capture/library/call/path.h"
#include "capture/library/call/poll_filter.h"
#include "formats/api/api.h"

#include <string.h>

/* A call from a signal handler that interrupted a record write or a hook. Count it; do not record
 * it. */
static bool count_unrecorded(struct cap_thread *t)
{
	if (t->ring && t->generation == cap_process.generation &&
	    !__atomic_load_n(t->paused, __ATOMIC_RELAXED) &&
	    __atomic_load_n(&cap_live.is_recording, __ATOMIC_RELAXED))
		__atomic_store_n(&t->ring->last_call, t->next_id++, __ATOMIC_RELAXED);
	return false;
}

/* Returns true if the call is recorded although a gate is closed. */
static __attribute__((noinline)) bool is_recorded_anyway(struct cap_thread *t, uint32_t traits,
							 uint8_t *paused)
{
	struct cap_control *control = cap_process.control;
	bool wanted;

	if (!cap_process.session || t->asking)
		return false;
	if (t->writing || t->hooking)
		return count_unrecorded(t);
	if (!cap_ring_prepare(t)) {
		__atomic_fetch_add(cap_is_alive() ? &control->no_ring_calls
						  : &control->forked_calls,
				   1, __ATOMIC_RELAXED);
		return false;
	}
	*paused = __atomic_load_n(t->paused, __ATOMIC_RELAXED) ||
		  !__atomic_load_n(&cap_live.is_recording, __ATOMIC_RELAXED);
	wanted = (traits & CAP_TRAITS_ALWAYS) ||
		 __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) > 0;
	return !*paused || wanted;
}

static __attribute__((noinline)) void before_call(struct cap_call *c)
{
	if (c->traits & CAP_TRAITS_COPIES)
		c->plan = cap_plan_run(c, c->plan, CAP_BLOB_BEFORE);
	if (cap_is_hooked(c->class))
		cap_chain_before(c);
	/* Counted before the capture begins: other threads' hooks must not end it. */
	if (c->class == API_CLASS_CAPTURE_BEGIN)
		__atomic_fetch_add(&cap_process.capturing, 1, __ATOMIC_SEQ_CST);
}

bool cap_call_enter(struct cap_call *c, uint32_t api, uint32_t traits,
		    const struct cap_plan_step *plan, const uint64_t *words)
{
	struct cap_thread *t = &cap_self;

	c->paused = 0;
	c->hooks = 0;
	if (unlikely(!cap_may_record(t)) && !is_recorded_anyway(t, traits, &c->paused))
		return false;
	c->api = api;
	c->traits = traits;
	c->class = CAP_TRAITS_CLASS(traits);
	c->words = words;
	c->plan = plan;
	cap_set_writing(t, 1);
	c->id = cap_call_begin(t, &c->depth);
	cap_set_writing(t, 0);
	if ((traits & (CAP_TRAITS_COPIES | CAP_TRAITS_CAPTURES)) ||
	    cap_is_hooked(CAP_TRAITS_CLASS(traits)))
		before_call(c);
	if (cap_needs_order(t))
		c->began = cap_order();
	c->start = cap_call_start(t, api, c->depth);
	return true;
}

/* Counts captures that have ended, or did not begin. */
static __attribute__((noinline)) void end_capture(const struct cap_call *c)
{
	bool over = c->class == API_CLASS_CAPTURE_BEGIN ? c->result != 0
							: api_capture_is_over((int)c->result);

	if (over && __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) > 0)
		__atomic_fetch_sub(&cap_process.capturing, 1, __ATOMIC_RELAXED);
}

/* CAP_TRAITS_OUTPUT: writes one number or handle. */
static inline void write_output(struct cap_thread *t, const struct cap_call *c)
{
	uint32_t word = CAP_TRAITS_OUT_WORD(c->traits), bytes = sizeof(struct cap_blob_record) + 8;
	const void *at = (const void *)(uintptr_t)c->words[word];
	struct cap_blob_record *r;
	uint64_t value = 0;

	if (!at || ((int32_t)c->result != 0 && !api_succeeded(api_call(c->api), c->result)))
		return;
	r = (void *)cap_write_begin(t, bytes);
	if (unlikely(!r))
		return;
	r->head = (struct cap_record){.bytes = bytes, .kind = CAP_BLOB, .flags = CAP_BLOB_AFTER};
	r->arg = (uint16_t)word;
	r->field = 0;
	r->id = c->id;
	if (c->traits & CAP_TRAITS_OUT_WIDE) {
		memcpy(&value, at, 8);
		r->whole_len = r->len = 8;
	} else {
		memcpy(&value, at, 4);
		r->whole_len = r->len = 4;
	}
	memcpy(r->data, &value, 8);
	cap_write_end(t, bytes);
}

static CAP_INLINE void write_call(struct cap_thread *t, const struct cap_call *c, bool ordered)
{
	uint32_t n_words = CAP_TRAITS_WORDS(c->traits),
		 n = n_words + ((c->traits & CAP_TRAITS_WIDE) != 0) + (ordered ? 2 : 0);
	uint32_t bytes = (uint32_t)sizeof(struct cap_call_record) + 8 * n;
	struct cap_call_record *r = (void *)cap_write_begin(t, bytes);

	if (unlikely(!r))
		return;
	r->head = (struct cap_record){
		.bytes = bytes,
		.kind = CAP_CALL,
		.depth = c->depth,
		.flags = (uint8_t)((c->traits >> 16 & (CAP_CALL_ALWAYS | CAP_CALL_RAW)) |
				   (c->paused ? CAP_CALL_OUTSIDE : 0) |
				   (ordered ? CAP_CALL_ORDERED : 0)),
	};
	r->api = c->api;
	r->result = (int32_t)c->result;
	r->id = c->id;
	r->start = c->start;
	r->end = c->end;
	for (uint32_t i = 0; i < n_words; i++)
		r->words[i] = c->words[i];
	if (unlikely(c->traits & CAP_TRAITS_WIDE))
		r->words[n_words] = (uint64_t)c->result;
	if (ordered) {
		r->words[n - 2] = c->began;
		r->words[n - 1] = c->returned;
	}
	cap_write_end(t, bytes);
}

static __attribute__((noinline)) void after_call(struct cap_call *c)
{
	if (c->hooks)
		cap_chain_after(c);
	if (c->traits & CAP_TRAITS_COPIES)
		cap_plan_run(c, c->plan, CAP_BLOB_AFTER);
	if (c->traits & CAP_TRAITS_CAPTURES)
		end_capture(c);
}

void cap_call_leave(struct cap_call *c, int64_t result)
{
	struct cap_thread *t = &cap_self;

	c->end = cap_ticks(t);
	if (cap_needs_order(t))
		c->returned = cap_order();
	c->result = result;
	if (unlikely(!cap_call_end(t, c->depth)))
		return;
	if ((c->traits & (CAP_TRAITS_COPIES | CAP_TRAITS_CAPTURES)) || c->hooks)
		after_call(c);
	if (unlikely(c->traits & CAP_TRAITS_QUERY) && cap_poll_filter(t, c))
		return;
	if (c->traits & CAP_TRAITS_OUT)
		write_output(t, c);
	if (cap_needs_order(t))
		write_call(t, c, true);
	else
		write_call(t, c, false);
}

_Static_assert(CAP_TRAITS_ALWAYS == CAP_CALL_ALWAYS << 16 && CAP_TRAITS_RAW == CAP_CALL_RAW << 16,
	       "flags of a record");
