/* SPDX-License-Identifier: Apache-2.0 */

/* A hand-made run of some ranks, for tests of segments. A failure ends the test. */
#pragma once

#include "formats/run/gpucapture/trace/trace_writer.h"
#include "tests/unit/rings.h"

#define ROUNDS 60
#define RANKS 2

enum way { REPEATED, MARKED, UNMARKED };

/* A run of some ranks, one process each. */
struct made_run {
	struct fmt_names *names;
	struct rec_process *p[RANKS + 2];
	struct made_ring rings[RANKS + 2];
	uint32_t n;	       /* ranks, one idle process, optionally another rank */
	uint64_t late;	       /* an operation of the first rank whose times arrive a round later */
	uint64_t undigested;   /* one of the second rank whose digest arrives a round later */
	struct rec_plan *plan; /* first reading: to be found; else NULL */
	size_t segment;	       /* of the plan */
	bool digests, messages, joined; /* joined: another rank starts in the middle, */
	bool ended;			/* when the others end */
};

static inline uint32_t add_process(struct made_run *m)
{
	uint32_t i = m->n++;

	m->p[i] = process(m->names, 100 + (int)i, i);
	m->p[i]->only_plan = m->plan != NULL;
	return i;
}

static inline void add_rank(struct made_run *m)
{
	uint32_t i = add_process(m);

	ring_open(&m->rings[i], m->p[i], i);
	ring_begin(&m->rings[i], (int)i, CONTEXT, STREAM, KERNEL);
	join_comm(&m->rings[i], RANKS, i);
	ring_look(&m->rings[i]);
}

/* Another rank, in no communicator, that starts now. */
static inline void add_alone(struct made_run *m)
{
	uint32_t i = add_process(m);

	ring_open(&m->rings[i], m->p[i], i);
	m->rings[i].now_ns = m->rings[0].now_ns;
	ring_begin(&m->rings[i], 0, CONTEXT, STREAM, KERNEL);
	ring_look(&m->rings[i]);
}

static inline void add_idle(struct made_run *m)
{
	uint32_t i = add_process(m);

	ring_open(&m->rings[i], m->p[i], i);
	ring_call(&m->rings[i], "cuInit", 0);
	ring_look(&m->rings[i]);
}

static inline void run_begin_in(struct made_run *m, struct fmt_names *names, struct rec_plan *plan)
{
	*m = (struct made_run){.names = names, .plan = plan, .segment = SIZE_MAX};
	for (uint32_t i = 0; i < RANKS; i++)
		add_rank(m);
	add_idle(m);
}

static inline void run_begin(struct made_run *m)
{
	ck_assert_int_eq(fmt_names_new(&m->names), 0);
	run_begin_in(m, m->names, NULL);
}

static inline void run_forget(struct made_run *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		ring_close(&m->rings[i]);
		rec_process_free(m->p[i]);
	}
}

static inline void run_end(struct made_run *m)
{
	run_forget(m);
	fmt_names_free(m->names);
}

static inline void operation(struct made_ring *m, uint64_t id)
{
	ring_times(m, id, m->now_ns, m->now_ns + 700);
}

static inline void mark(struct made_ring *m, uint64_t number)
{
	const struct cap_range_record r = {
		.head = {.bytes = sizeof(r), .kind = CAP_RANGE, .flags = CAP_RANGE_ITERATION},
		.at = (uint64_t)m->now_ns,
		.key = number};

	ring_put(m, &r);
}

/* Digests of the operation of the previous round, and of the next one; for one of them also its
 * contents. One more digest is announced than written. */
static inline void digest_last(struct made_run *m, uint32_t rank)
{
	struct made_ring *r = &m->rings[rank];

	if (rank == 1 && m->undigested)
		ring_digest(r, m->undigested, CAP_DIGEST_OUTPUT);
	ring_announce(r, rank == 1 ? 3 : 4);
	ring_digest(r, ring_id(r), 0);
	if (rank == 1)
		m->undigested = ring_id(r);
}

static inline void digest_this(struct made_run *m, uint32_t rank)
{
	struct made_ring *r = &m->rings[rank];
	uint64_t id = (uint64_t)r->ring->number << CAP_ORDINAL_BITS | (r->ordinal - 1);

	ring_digest(r, id, CAP_DIGEST_EMPTY);
	if (rank == 0) {
		ring_digest(r, id, CAP_DIGEST_OUTPUT);
		ring_content(r, id);
	}
}

/* The first rank sends in each round, and receives in every other one; the second rank participates
 * after the next round has begun. */
static inline void exchange(struct made_run *m, uint32_t rank, uint32_t round)
{
	static const char *const calls[] = {"ncclSend", "ncclRecv"};
	struct made_ring *r = &m->rings[rank];
	uint64_t peer = rank == 0 ? 2 : 1;

	ring_call_at(r, "ncclGroupStart", 0, 0, NULL, 0);
	exchange_calls(r, peer, calls[rank]);
	if (round % 2)
		exchange_calls(r, peer, calls[!rank]);
	end_group(r, r->now_ns + 100, r->now_ns + 300);
}

/* An iteration of the rank; UNMARKED: the number of launches differs each time. */
static inline void iterate(struct made_run *m, uint32_t rank, uint32_t round, enum way way)
{
	struct made_ring *r = &m->rings[rank];
	uint32_t n = way == UNMARKED ? 3 + round * round % 7 : 3;

	if (way == MARKED)
		mark(r, 10 + round);
	for (uint32_t i = 0; i < n; i++)
		operation(r, ring_launch(r, KERNEL, STREAM));
	if (m->messages && rank == 1 && round > 0)
		exchange(m, rank, round - 1);
	if (m->digests)
		digest_last(m, rank);
	operation(r, ring_call(r, "cuMemsetD8Async", 0x10000, 0, 64, STREAM));
	if (m->digests)
		digest_this(m, rank);
	if (rank == 0 && m->late)
		operation(r, m->late);
	if (rank == 0)
		m->late = ring_call(r, "cuMemcpyDtoDAsync_v2", 0x10000, 0x20000, 64, STREAM);
	else
		operation(r, ring_call(r, "cuMemcpyDtoDAsync_v2", 0x10000, 0x20000, 64, STREAM));
	if (rank < RANKS || !m->joined)
		reduce(r, r->now_ns + 100, r->now_ns + 900);
	if (m->messages && rank == 0)
		exchange(m, rank, round);
	ring_look(r);
}

static inline void end_first(struct made_run *m)
{
	operation(&m->rings[0], m->late);
	ring_look(&m->rings[0]);
}

/* The whole run, in rounds, each of which is written if `making` is not NULL. */
static inline void iterate_all(struct made_run *m, enum way way, struct rec_trace_writer *making)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		if (m->joined && round == ROUNDS / 2)
			add_alone(m);
		if (m->ended && round == ROUNDS / 2)
			end_first(m);
		for (uint32_t i = 0; i < m->n; i++)
			if (i > RANKS || (i < RANKS && (!m->ended || round < ROUNDS / 2)))
				iterate(m, i, round, way);
		if (m->plan)
			ck_assert_int_eq(rec_plan_end_round(m->plan, m->p, m->n, m->segment), 0);
		if (making)
			ck_assert_int_ge(rec_trace_writer_add(making, m->p, m->n, NULL), 0);
	}
	if (!m->ended)
		end_first(m);
	if (m->digests)
		ring_digest(&m->rings[1], m->undigested, CAP_DIGEST_OUTPUT);
	if (m->messages)
		exchange(m, 1, ROUNDS - 1);
	ring_look(&m->rings[1]);
}
