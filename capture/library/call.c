/* SPDX-License-Identifier: Apache-2.0 */

/* The hot path: no lock, no allocation, no system call. */
#include "capture/library/call.h"
#include "capture/library/device/chain.h"
#include "capture/library/launch.h"
#include "formats/api/api.h"

#include <string.h>

/* A signal handler's, which came while the thread was at it: it only counts. */
static bool count_only(struct cap_thread *t)
{
	if (t->ring && t->generation == cap_process.generation &&
	    !__atomic_load_n(t->paused, __ATOMIC_RELAXED) &&
	    __atomic_load_n(&cap_live.on, __ATOMIC_RELAXED))
		__atomic_store_n(&t->ring->last_call, t->next_id++, __ATOMIC_RELAXED);
	return false;
}

/* Whether the call is recorded all the same, though some gate is closed. */
static __attribute__((noinline)) bool open_gate(struct cap_thread *t, uint32_t how, uint8_t *paused)
{
	struct cap_control *control = cap_process.control;
	bool wanted;

	if (!cap_process.session)
		return false;
	if (t->writing || t->hooking)
		return count_only(t);
	if (!cap_thread_ready(t)) {
		__atomic_fetch_add(cap_is_alive() ? &control->no_ring_calls
						  : &control->forked_calls,
				   1, __ATOMIC_RELAXED);
		return false;
	}
	*paused = __atomic_load_n(t->paused, __ATOMIC_RELAXED) ||
		  !__atomic_load_n(&cap_live.on, __ATOMIC_RELAXED);
	wanted = (how & CAP_HOW_ALWAYS) ||
		 __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) > 0;
	return !*paused || wanted;
}

/* The most frequent of the calls with something to copy. */
static void put_kernel(struct cap_call *c, const uint64_t *words)
{
	void **params = (void **)words[CAP_LAUNCH_PARAMS];

	cap_put_params(c, params ? CAP_LAUNCH_PARAMS : CAP_LAUNCH_EXTRA, words[0], params,
		       (void **)words[CAP_LAUNCH_EXTRA]);
}

static __attribute__((noinline)) void before(struct cap_call *c)
{
	if (c->how & CAP_HOW_KERNEL)
		put_kernel(c, c->words);
	else if (c->how & CAP_HOW_RICH)
		cap_args_before(c);
	if (cap_is_hooked(c->class))
		cap_chain_before(c);
	/* Counted before it begins: what another thread does of ours must not spoil it. */
	if (c->class == API_CLASS_CAPTURE_BEGIN)
		__atomic_fetch_add(&cap_process.capturing, 1, __ATOMIC_SEQ_CST);
}

bool cap_enter(struct cap_call *c, uint32_t api, uint32_t how, const uint64_t *words)
{
	struct cap_thread *t = &cap_self;

	c->paused = 0;
	c->hooks = 0;
	if (unlikely(!cap_gates_open(t)) && !open_gate(t, how, &c->paused))
		return false;
	c->api = api;
	c->how = how;
	c->class = CAP_HOW_CLASS(how);
	c->words = words;
	cap_writing(t, 1);
	c->id = cap_begin(t, &c->depth);
	cap_writing(t, 0);
	if ((how & (CAP_HOW_RICH | CAP_HOW_KERNEL | CAP_HOW_CAPTURES)) ||
	    cap_is_hooked(CAP_HOW_CLASS(how)))
		before(c);
	c->start = cap_start(t, api, c->depth);
	return true;
}

/* Of the classes that change what the library itself must know. */
static __attribute__((noinline)) void follow(const struct cap_call *c)
{
	bool over = c->class == API_CLASS_CAPTURE_BEGIN ? c->result != 0
							: api_capture_is_over((int)c->result);

	if (over && __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) > 0)
		__atomic_fetch_sub(&cap_process.capturing, 1, __ATOMIC_RELAXED);
}

/* The most frequent of the results: one number or handle. */
static inline void write_out(struct cap_thread *t, const struct cap_call *c)
{
	uint32_t word = CAP_HOW_OUT_WORD(c->how), bytes = sizeof(struct cap_blob_record) + 8;
	const void *at = (const void *)(uintptr_t)c->words[word];
	struct cap_blob_record *r;
	uint64_t value = 0;

	if (!at || ((int32_t)c->result != 0 && !api_succeeded(api_call(c->api), c->result)))
		return;
	r = (void *)cap_room(t, bytes);
	if (unlikely(!r))
		return;
	r->head = (struct cap_record){.bytes = bytes, .kind = CAP_BLOB, .flags = CAP_BLOB_AFTER};
	r->arg = (uint16_t)word;
	r->field = 0;
	r->id = c->id;
	if (c->how & CAP_HOW_OUT_WIDE) {
		memcpy(&value, at, 8);
		r->whole_len = r->len = 8;
	} else {
		memcpy(&value, at, 4);
		r->whole_len = r->len = 4;
	}
	memcpy(r->data, &value, 8);
	cap_commit(t, bytes);
}

static inline void write_call(struct cap_thread *t, const struct cap_call *c)
{
	uint32_t n_words = CAP_HOW_WORDS(c->how), n = n_words + ((c->how & CAP_HOW_WIDE) != 0);
	uint32_t bytes = (uint32_t)sizeof(struct cap_call_record) + 8 * n;
	struct cap_call_record *r = (void *)cap_room(t, bytes);

	if (unlikely(!r))
		return;
	r->head = (struct cap_record){
		.bytes = bytes,
		.kind = CAP_CALL,
		.depth = c->depth,
		.flags = (uint8_t)((c->how >> 16 & (CAP_CALL_ALWAYS | CAP_CALL_RAW)) |
				   (c->paused ? CAP_CALL_OUTSIDE : 0)),
	};
	r->api = c->api;
	r->result = (int32_t)c->result;
	r->id = c->id;
	r->start = c->start;
	r->end = c->end;
	for (uint32_t i = 0; i < n_words; i++)
		r->words[i] = c->words[i];
	if (unlikely(c->how & CAP_HOW_WIDE))
		r->words[n_words] = (uint64_t)c->result;
	cap_commit(t, bytes);
}

static __attribute__((noinline)) void after(struct cap_call *c)
{
	if (c->hooks)
		cap_chain_after(c);
	if (c->how & CAP_HOW_RICH)
		cap_args_after(c);
	if (c->how & CAP_HOW_CAPTURES)
		follow(c);
}

void cap_leave(struct cap_call *c, int64_t result)
{
	struct cap_thread *t = &cap_self;

	c->end = cap_ticks(t);
	c->result = result;
	if (unlikely(!cap_end(t, c->depth)))
		return;
	if ((c->how & (CAP_HOW_RICH | CAP_HOW_CAPTURES)) || c->hooks)
		after(c);
	if (unlikely(c->how & CAP_HOW_ASKS) && cap_polls_leave_out(t, c))
		return;
	if (c->how & CAP_HOW_OUT)
		write_out(t, c);
	write_call(t, c);
}

int cap_launch_long(uint32_t api, uint32_t how, cap_launch_fn *real,
		    const uint64_t words[CAP_LAUNCH_WORDS])
{
	const uint64_t *w = words;
	struct cap_call c;
	bool on = cap_enter(&c, api, how, words);
	int r = real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10]);

	if (on)
		cap_leave(&c, r);
	return r;
}

_Static_assert(CAP_HOW_ALWAYS == CAP_CALL_ALWAYS << 16 && CAP_HOW_RAW == CAP_CALL_RAW << 16,
	       "flags of a record");
