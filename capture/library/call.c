/* SPDX-License-Identifier: Apache-2.0 */

/* The hot path: no lock, no allocation, no system call. */
#include "capture/library/call.h"
#include "capture/library/device/chain.h"
#include "capture/library/ticks.h"
#include "formats/api/api.h"

#include <string.h>

/* A signal handler's, which came while the thread was at it: it only counts. */
static bool count_only(struct cap_thread *t)
{
	if (t->ring && t->generation == cap_process.generation && !*t->paused && cap_live.on)
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
		__atomic_fetch_add(cap_live.alive ? &control->no_ring_calls
						  : &control->forked_calls,
				   1, __ATOMIC_RELAXED);
		return false;
	}
	*paused = *t->paused || !cap_live.on;
	wanted = (how & CAP_HOW_ALWAYS) ||
		 __atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) > 0;
	return !*paused || wanted;
}

static inline bool gates_closed(const struct cap_thread *t)
{
	return *t->paused | !cap_live.on | t->writing | t->hooking;
}

static inline bool is_hooked(uint32_t how)
{
	return cap_process.hooked >> CAP_HOW_CLASS(how) & 1;
}

/* The most frequent of the calls with something to copy. */
static inline void put_kernel(struct cap_call *c, const uint64_t *words)
{
	cap_put_params(c, words[9] ? 9 : 10, words[0], (void **)(uintptr_t)words[9],
		       (void **)(uintptr_t)words[10]);
}

static __attribute__((noinline)) void before(struct cap_call *c)
{
	if (c->how & CAP_HOW_KERNEL)
		put_kernel(c, c->words);
	else if (c->how & CAP_HOW_RICH)
		cap_args_before(c);
	if (is_hooked(c->how))
		cap_chain_before(c);
	/* Counted before it begins: what another thread does of ours must not spoil it. */
	if (c->class == API_CLASS_CAPTURE_BEGIN)
		__atomic_fetch_add(&cap_process.capturing, 1, __ATOMIC_SEQ_CST);
}

bool cap_enter(struct cap_call *c, uint32_t api, uint32_t how, const uint64_t *words)
{
	struct cap_thread *t = &cap_self;

	c->paused = 0;
	if (unlikely(gates_closed(t)) && !open_gate(t, how, &c->paused))
		return false;
	c->api = api;
	c->how = how;
	c->class = CAP_HOW_CLASS(how);
	c->n_words = CAP_HOW_WORDS(how);
	c->per_thread = (how & CAP_HOW_PER_THREAD) != 0;
	c->words = words;
	cap_writing(t, 1);
	c->id = t->next_id++;
	__atomic_store_n(&t->ring->last_call, c->id, __ATOMIC_RELAXED);
	cap_writing(t, 0);
	c->depth = (uint8_t)t->depth++;
	if ((how & (CAP_HOW_RICH | CAP_HOW_KERNEL | CAP_HOW_CAPTURES)) || is_hooked(how))
		before(c);
	c->start = cap_ticks(t);
	if (c->depth == 0) {
		t->ring->current_start = c->start;
		__atomic_store_n(&t->ring->current_api, api + 1, __ATOMIC_RELAXED);
	}
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

	if ((int32_t)c->result != 0 || !at)
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
	uint32_t n = c->n_words + ((c->how & CAP_HOW_WIDE) != 0);
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
	for (uint32_t i = 0; i < c->n_words; i++)
		r->words[i] = c->words[i];
	if (unlikely(c->how & CAP_HOW_WIDE))
		r->words[c->n_words] = (uint64_t)c->result;
	cap_commit(t, bytes);
}

static __attribute__((noinline)) void after(struct cap_call *c)
{
	if (is_hooked(c->how))
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
	t->depth--;
	/* The thread may have ended its ring within the call, or be a forked child now. */
	if (unlikely(!t->ring || !cap_live.alive))
		return;
	if (c->depth == 0)
		__atomic_store_n(&t->ring->current_api, 0, __ATOMIC_RELAXED);
	if ((c->how & (CAP_HOW_RICH | CAP_HOW_CAPTURES)) || is_hooked(c->how))
		after(c);
	if (c->how & CAP_HOW_OUT)
		write_out(t, c);
	write_call(t, c);
}

_Static_assert(CAP_HOW_ALWAYS == CAP_CALL_ALWAYS << 16 && CAP_HOW_RAW == CAP_CALL_RAW << 16,
	       "flags of a record");
