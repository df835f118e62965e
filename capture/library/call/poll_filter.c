/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/call/poll_filter.h"

#include "capture/library/call/traits.h"
#include "formats/api/api.h"

#include <string.h>

/* Maximum number of calls in one record: if the thread is killed, its unwritten record is lost. */
#define MOST_REPEATED (1u << 16)

#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* Hashes the call, its arguments and its result, without the address of the result. */
static uint64_t hash_of(const struct cap_call *c)
{
	uint64_t h = mix(c->api + 1, (uint64_t)c->result), output = 0;
	bool has_output = c->traits & CAP_TRAITS_OUT;

	for (uint32_t i = 0; i < CAP_TRAITS_WORDS(c->traits); i++)
		if (!has_output || i != CAP_TRAITS_OUT_WORD(c->traits))
			h = mix(h, c->words[i]);
	if (has_output && c->result == 0 && c->words[CAP_TRAITS_OUT_WORD(c->traits)])
		memcpy(&output, (const void *)(uintptr_t)c->words[CAP_TRAITS_OUT_WORD(c->traits)],
		       c->traits & CAP_TRAITS_OUT_WIDE ? 8 : 4);
	return mix(h, output);
}

static bool was_seen(const struct cap_polls *p, uint64_t hash)
{
	for (uint32_t i = 0; i < p->n_seen; i++)
		if (p->seen[i] == hash)
			return true;
	return false;
}

static void leave_out(struct cap_thread *t, const struct cap_call *c, bool is_query)
{
	struct cap_polls *p = &t->polls;

	cap_set_writing(t, 1);
	if (p->n == 0) {
		p->id = c->id;
		p->start = c->start;
		p->began = c->began;
		t->end =
			t->at; /* makes cap_write_wait_space() write their record before the next */
	} else {
		t->next_id = c->id;
	}
	/* Withheld calls count as begun when their record is written. */
	__atomic_store_n(&t->ring->last_call, p->id - 1, __ATOMIC_RELAXED);
	if (p->n == 0 || (is_query && !p->is_query)) {
		p->api = c->api;
		p->result = (int32_t)c->result;
		p->n_words = CAP_TRAITS_WORDS(c->traits);
		memcpy(p->words, c->words, p->n_words * sizeof(p->words[0]));
		p->is_query = is_query;
	}
	p->end = c->end;
	p->returned = c->returned;
	p->n++;
	cap_set_writing(t, 0);
}

bool cap_poll_filter(struct cap_thread *t, const struct cap_call *c)
{
	struct cap_polls *p = &t->polls;
	bool is_query = c->class == API_CLASS_STREAM_QUERY || c->class == API_CLASS_EVENT_QUERY;
	uint64_t hash;

	if (is_query && c->result != NOT_READY) {
		p->n_seen = 0;
		return false;
	}
	/* Neither a nested call, nor one with nested calls. */
	if ((!is_query && p->n_seen == 0) || c->depth > 0 || c->paused || t->next_id != c->id + 1)
		return false;
	hash = hash_of(c);
	if (was_seen(p, hash) && p->n < MOST_REPEATED) {
		leave_out(t, c, is_query);
		return true;
	}
	if (p->n_seen < CAP_POLLS_SEEN)
		p->seen[p->n_seen++] = hash;
	return false;
}
