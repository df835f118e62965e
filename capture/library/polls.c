/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/polls.h"

#include "capture/library/call.h"
#include "formats/api/api.h"

#include <string.h>

/* One record of so many calls at most, so that little is missing of a thread that is killed. */
#define MOST_REPEATED (1u << 16)

#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* The call with its arguments and its answer, but for where it puts that. */
static uint64_t hash_of(const struct cap_call *c)
{
	uint64_t h = mix(c->api + 1, (uint64_t)c->result), answer = 0;
	bool has_output = c->how & CAP_HOW_OUT;

	for (uint32_t i = 0; i < CAP_HOW_WORDS(c->how); i++)
		if (!has_output || i != CAP_HOW_OUT_WORD(c->how))
			h = mix(h, c->words[i]);
	if (has_output && c->result == 0 && c->words[CAP_HOW_OUT_WORD(c->how)])
		memcpy(&answer, (const void *)(uintptr_t)c->words[CAP_HOW_OUT_WORD(c->how)],
		       c->how & CAP_HOW_OUT_WIDE ? 8 : 4);
	return mix(h, answer);
}

static bool was_seen(const struct cap_polls *p, uint64_t hash)
{
	for (uint32_t i = 0; i < p->n_seen; i++)
		if (p->seen[i] == hash)
			return true;
	return false;
}

static void add(struct cap_thread *t, const struct cap_call *c, bool is_query)
{
	struct cap_polls *p = &t->polls;

	cap_writing(t, 1);
	if (p->n == 0) {
		p->id = c->id;
		p->start = c->start;
		t->end = t->at; /* so that the next record is preceded by that of the polls */
	} else {
		t->next_id = c->id;
	}
	/* Counted as begun when their record is written. */
	__atomic_store_n(&t->ring->last_call, p->id - 1, __ATOMIC_RELAXED);
	if (p->n == 0 || (is_query && !p->is_query)) {
		p->api = c->api;
		p->result = (int32_t)c->result;
		p->n_words = CAP_HOW_WORDS(c->how);
		memcpy(p->words, c->words, p->n_words * sizeof(p->words[0]));
		p->is_query = is_query;
	}
	p->end = c->end;
	p->n++;
	cap_writing(t, 0);
}

bool cap_polls_leave_out(struct cap_thread *t, const struct cap_call *c)
{
	struct cap_polls *p = &t->polls;
	bool is_query = c->class == API_CLASS_STREAM_QUERY || c->class == API_CLASS_EVENT_QUERY;
	uint64_t hash;

	if (is_query && c->result != NOT_READY) {
		p->n_seen = 0;
		return false;
	}
	/* Not where it was called within another call, or other calls were made within it. */
	if ((!is_query && p->n_seen == 0) || c->depth > 0 || c->paused || t->next_id != c->id + 1)
		return false;
	hash = hash_of(c);
	if (was_seen(p, hash) && p->n < MOST_REPEATED) {
		add(t, c, is_query);
		return true;
	}
	if (p->n_seen < CAP_POLLS_SEEN)
		p->seen[p->n_seen++] = hash;
	return false;
}

/* As the first of them is recorded, with the word that counts. */
uint32_t cap_polls_bytes(const struct cap_thread *t)
{
	const struct cap_polls *p = &t->polls;

	return p->n ? (uint32_t)sizeof(struct cap_call_record) + 8 * (p->n_words + 1) : 0;
}

void cap_polls_write(struct cap_thread *t)
{
	struct cap_call_record *r = (void *)t->at;
	struct cap_polls *p = &t->polls;
	uint32_t bytes = cap_polls_bytes(t);

	r->head = (struct cap_record){.bytes = bytes, .kind = CAP_CALL, .flags = CAP_CALL_REPEATED};
	r->api = p->api;
	r->result = p->result;
	r->id = p->id;
	r->start = p->start;
	r->end = p->end;
	memcpy(r->words, p->words, p->n_words * sizeof(p->words[0]));
	r->words[p->n_words] = p->n;
	p->n = 0;
	cap_show(t, bytes);
}
