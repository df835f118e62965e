/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/run/gpucapture/calls/processes.h"
#include "tests/unit/test.h"

define_cleanup(processes_freep, struct rec_processes *, rec_processes_free);

enum { RING = 3, CALL = 40 }; /* CALL: bytes of a call without arguments */

static const struct cap_ring_info about = {.number = RING, .pid = 7, .tid = 7, .process_start = 1};

/* Makes call number n of the ring, counted from 1. */
static void make_call(uint8_t to[CALL], unsigned n)
{
	struct cap_call_record *c = (void *)to;

	memset(to, 0, CALL);
	c->head = (struct cap_record){.bytes = CALL, .kind = CAP_CALL};
	c->api = (uint32_t)api_find("cuCtxSynchronize");
	c->id = (uint64_t)RING << CAP_ORDINAL_BITS | n;
	c->start = 1000 * n;
	c->end = 1000 * n + 10;
}

static int pass(struct rec_processes *p, const struct rec_piece *piece, const void *data)
{
	_Alignas(8) uint8_t bytes[sizeof(*piece) + 20 * CALL];

	ck_assert_uint_le(piece->bytes, 20 * CALL);
	memcpy(bytes, piece, sizeof(*piece));
	memcpy(bytes + sizeof(*piece), data, piece->bytes);
	return rec_processes_add_piece(p, (const void *)bytes);
}

static int pass_ring(struct rec_processes *p)
{
	return pass(p, &(struct rec_piece){REC_PIECE_RING, .bytes = sizeof(about)}, &about);
}

/* Passes calls from..to as bytes of the ring. */
static int pass_calls(struct rec_processes *p, uint32_t ring, unsigned from, unsigned to)
{
	_Alignas(8) uint8_t bytes[20 * CALL] = {0};
	const struct rec_piece piece = {REC_PIECE_BYTES, ring, (uint64_t)(from - 1) * CALL,
					(uint64_t)(to - from + 1) * CALL};

	for (unsigned n = from; n <= to; n++)
		make_call(bytes + (size_t)(n - from) * CALL, n);
	return pass(p, &piece, bytes);
}

static struct rec_process_list list;

static const struct rec_counts *counts(struct rec_processes *p)
{
	rec_processes_add_losses(p);
	ck_assert_uint_eq(list.n, 1);
	return &list.all[0]->counts;
}

static struct rec_processes *new_processes(struct fmt_names **names)
{
	static const struct cap_clock clock;
	struct rec_processes *p;

	ck_assert_int_eq(fmt_names_new(names), 0);
	list = (struct rec_process_list){.names = *names};
	ck_assert_int_eq(rec_processes_new(&(struct rec_source){.ticks = &clock}, &list, &p), 0);
	ck_assert_int_eq(pass_ring(p), 0);
	ck_assert_int_eq(pass_ring(p), 0);
	return p;
}

/* Bytes that a killed reader took and its successor takes again count once. */
TEST(bytes_count_once)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(processes_freep) struct rec_processes *p = new_processes(&names);

	ck_assert_int_eq(pass_calls(p, RING, 1, 5), 0);
	ck_assert_int_eq(rec_processes_end_round(p, false), 0);
	ck_assert_int_eq(pass_calls(p, RING, 1, 5), 0);
	ck_assert_int_eq(pass_calls(p, RING, 4, 9), 0);
	ck_assert_int_eq(rec_processes_end_round(p, true), 0);
	ck_assert_uint_eq(counts(p)->calls, 9);
	ck_assert_uint_eq(counts(p)->damaged, 0);
}

TEST(missing_bytes_are_damage)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(processes_freep) struct rec_processes *p = new_processes(&names);

	ck_assert_int_eq(pass_calls(p, RING, 1, 2), 0);
	ck_assert_int_eq(pass_calls(p, RING, 5, 6), 0);
	ck_assert_int_eq(rec_processes_end_round(p, true), 0);
	ck_assert_uint_eq(counts(p)->calls, 4);
	ck_assert_uint_eq(counts(p)->damaged, 1);
	ck_assert_int_eq(pass_calls(p, RING + 1, 1, 1), -EBADMSG);
}

/* The ring contains the number of calls begun, so missing calls are known; the last one is in
 * progress. */
TEST(missing_calls_are_counted)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(processes_freep) struct rec_processes *p = new_processes(&names);
	const struct rec_piece piece = {REC_PIECE_STATUS, RING,
					.bytes = sizeof(struct cap_ring_status)};
	struct cap_ring_status s = {.current_api = 5,
				    .last_call = (uint64_t)RING << CAP_ORDINAL_BITS | 8,
				    .lost_records = 2,
				    .lost_bytes = 2 * CALL};

	ck_assert_int_eq(pass_calls(p, RING, 1, 5), 0);
	ck_assert_int_eq(pass(p, &piece, &s), 0);
	ck_assert_int_eq(rec_processes_end_round(p, true), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(counts(p)->begun, 8);
		ck_assert_uint_eq(counts(p)->calls, 5);
		ck_assert_uint_eq(counts(p)->unended, 1);
		ck_assert_uint_eq(counts(p)->lost_records, 2);
	}
}
