/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/peers.h"

#include "formats/trace/store/trace.h"
#include "tests/unit/rings.h"
#include "tests/unit/scene.h"
#include "tests/unit/test.h"

TEST(a_list_is_read_to_its_end)
{
	const char *at = "[3, 12,4294967295]";
	uint32_t rank;

	ck_assert(fmt_peers_contain(at, 12) && !fmt_peers_contain(at, 1) &&
		  !fmt_peers_contain("", 0));
	ck_assert(fmt_peers_next(&at, &rank) && rank == 3);
	ck_assert(fmt_peers_next(&at, &rank) && rank == 12);
	ck_assert(fmt_peers_next(&at, &rank) && rank == UINT32_MAX);
	ck_assert(!fmt_peers_next(&at, &rank));
	at = "[4294967296, 1]";
	ck_assert(!fmt_peers_next(&at, &rank));
	at = "[\"a\"]";
	ck_assert(!fmt_peers_next(&at, &rank));
}

/* Rank 0 exchanges with 1 and 2, which begin 30 and 50 us later and do not exchange with each
 * other. */
TEST(a_transfer_begins_with_the_last_of_the_peers)
{
	static const char *const peers[] = {"[1, 2]", "[0]", "[0]"};
	static const int late[] = {0, 30, 50}, takes[] = {80, 38, 30};
	static const int64_t want[] = {30000, 38000, 30000};
	static struct row rows[72];
	scoped(unmake) struct made m;
	size_t n = 0;

	for (int rank = 0; rank < 3; rank++)
		for (int i = 0; i < 11; i++) {
			int start = 1000 + 200 * i + late[rank];

			rows[n++] = (struct row){CALL, LAUNCH, 10 * i, 5, i + 1, rank};
			rows[n++] = (struct row){NCCL,
						 ALL_REDUCE,
						 start,
						 takes[rank],
						 .correlation = i + 1,
						 .rank = rank,
						 .peers = peers[rank]};
		}
	make(&m, rows, n, 3, 0);
	for (int rank = 0; rank < 3; rank++) {
		size_t found = 0;

		for (size_t i = 0; i < m.ranks[rank].n_edges; i++) {
			const struct fmt_run_edge *e = &m.ranks[rank].edges[i];

			if (strcmp(rule_of(&m, e), "transfer") != 0)
				continue;
			ck_assert_int_eq(e->lag_ns, want[rank]);
			found++;
		}
		ck_assert_uint_eq(found, 11);
	}
}

/* Returns the peers of the first collective of a rank, or NULL. */
static const char *peers_of(struct fmt_trace *t, uint32_t rank)
{
	const struct fmt_names *n = fmt_trace_names(t);

	for (uint32_t k = 0; k < fmt_trace_rank(t, rank)->n_slices; k++) {
		scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

		ck_assert_int_eq(fmt_slice_load(t, rank, k, FMT_WANT_ALL, &s, NULL), 0);
		for (size_t i = 0; i < s->n_events; i++) {
			const struct fmt_template *template =
				fmt_template(n, s->events[i].template);

			if (template->kind == FMT_COLLECTIVE)
				return fmt_template_peers(n, template);
		}
	}
	return NULL;
}

/* One operation on each of three ranks, with a send or receive for each bit. */
static void check_peers(const uint64_t sends[3], const uint64_t receives[3],
			const char *const peers[3])
{
	scoped(recordings_end) struct recordings r = {0};
	scoped(written_done) struct written w = {0};
	struct made_ring *m = r.rings;

	recordings_begin(&r, 3);
	for (uint32_t i = 0; i < 3; i++) {
		join_comm(&m[i], 3, i);
		ring_call_at(&m[i], "ncclGroupStart", 0, 0, NULL, 0);
		exchange_calls(&m[i], sends[i], "ncclSend");
		exchange_calls(&m[i], receives[i], "ncclRecv");
		end_group(&m[i], 1100000, 1200000);
		ring_look(&m[i]);
	}
	write_trace(r.p, 3, r.names, &w);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_pstr_eq(peers_of(w.trace, i), peers[i]);
}

TEST(members_of_a_star_wait_for_its_centre)
{
	static const struct {
		uint64_t sends[3], receives[3];
		const char *peers[3];
	} rows[] = {
		{{6, 0, 0}, {0, 1, 1}, {"[1, 2]", "[0]", "[0]"}},
		{{7, 0, 0}, {1, 1, 1}, {"[1, 2]", "[0]", "[0]"}}, /* sends to itself as well */
		{{0, 1, 1}, {6, 0, 0}, {"[1, 2]", "[0]", "[0]"}},
		{{6, 5, 3}, {6, 5, 3}, {NULL, NULL, NULL}},
		{{2, 4, 1}, {4, 1, 2}, {NULL, NULL, NULL}}, /* a ring of three is an all-to-all */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_peers(rows[i].sends, rows[i].receives, rows[i].peers);
}

/* Collectives of a communicator of all ranks have no peers. */
TEST(only_destroy_ends_a_communicator)
{
	static const struct {
		const char *call;
		uint64_t words[2];
		bool ends;
	} rows[] = {
		{"ncclCommDeregister", {COMM, 0x7000}, false},
		{"ncclCommWindowDeregister", {COMM, 0x7000}, false},
		{"ncclRedOpDestroy", {5, COMM}, false},
		{"ncclCommDestroy", {COMM}, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scoped(recording_end) struct recording r = {0};
		const struct rec_object *comm;

		recording_begin(&r, 0);
		join_comm(&r.ring, 1, 0);
		ring_call_at(&r.ring, rows[i].call, 0, 0, rows[i].words, rows[i].ends ? 1 : 2);
		ring_look(&r.ring);
		comm = rec_handles_find(r.process->handles, API_MEANING_COMM, COMM);
		ck_assert_msg(!comm == rows[i].ends, "%s", rows[i].call);
	}
}

/* A non-blocking communicator returns ncclInProgress from its initialisation and its collectives;
 * it is recorded like any other. */
TEST(non_blocking_communicators)
{
	static const struct {
		int32_t result;
		size_t comms, failed;
	} rows[] = {{0, 1, 0}, {7, 1, 0}, {5, 0, 1}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scoped(recording_end) struct recording r = {0};

		recording_begin(&r, 0);
		join_comm_saying(&r.ring, 1, 0, rows[i].result);
		ring_look(&r.ring);
		ck_assert_uint_eq(r.process->nccl.n_comms, rows[i].comms);
		ck_assert_uint_eq(r.process->counts.failed, rows[i].failed);
	}
}
