/* SPDX-License-Identifier: Apache-2.0 */

/* Numbering of ranks: the process and GPU of each rank of a recorded trace. */
#include "formats/run/gpucapture/trace/ranks.h"

#include "tests/unit/rings.h"
#include "tests/unit/test.h"

static bool is_call(const struct fmt_trace *t, const struct fmt_template *template,
		    const char *name)
{
	return template->kind == FMT_CALL &&
	       strcmp(fmt_string(fmt_trace_names(t), template->name, NULL), name) == 0;
}

/* Two devices, used by one or two threads, are two ranks, each with its own calls. */
TEST(each_device_of_a_process_is_a_rank)
{
	for (uint32_t threads = 1; threads <= 2; threads++) {
		scoped(fmt_names_freep) struct fmt_names *names = NULL;
		scoped(rec_process_freep) struct rec_process *p = NULL;
		struct made_ring m[2];
		scoped(written_done) struct written w = {0};

		ck_assert_int_eq(fmt_names_new(&names), 0);
		p = process(names, 100, 0);
		for (uint32_t i = 0; i < threads; i++)
			ring_open(&m[i], p, i);
		for (uint32_t i = 0; i < 2; i++) {
			struct made_ring *on = &m[i % threads];
			uint64_t id;

			ring_begin(on, (int)i, CONTEXT + i, STREAM + 16 * i, KERNEL + i);
			id = ring_launch(on, KERNEL + i, STREAM + 16 * i);
			ring_times(on, id, on->now_ns + 1000, on->now_ns + 5000);
		}
		for (uint32_t i = 0; i < threads; i++)
			ring_look(&m[i]);

		write_trace(&p, 1, names, &w);

		ck_assert_uint_eq(fmt_trace_n_ranks(w.trace), 2);
		ck_assert_uint_eq(w.result.ops, 2);
		ck_assert_uint_eq(w.result.calls, p->counts.calls);
		for (uint32_t rank = 0; rank < 2; rank++) {
			scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
			uint32_t ops = 0, launches = 0;

			ck_assert_str_eq(
				fmt_fact_value(fmt_trace_names(w.trace), rank, FMT_FACT_PROCESS),
				"1");
			ck_assert_int_eq(fmt_slice_load(w.trace, rank, 0, FMT_WANT_ALL, &s, NULL),
					 0);
			for (size_t i = 0; i < s->n_events; i++) {
				const struct fmt_template *template = fmt_template(
					fmt_trace_names(w.trace), s->events[i].template);

				ops += FMT_IS_OP(template->kind);
				launches += is_call(w.trace, template, "cuLaunchKernel");
			}
			ck_assert_uint_eq(ops, 1);
			ck_assert_uint_eq(launches, 1);
		}
		for (uint32_t i = 0; i < threads; i++)
			ring_close(&m[i]);
	}
}

/* A launcher that only queries the driver version is not a rank; its calls are kept. */
TEST(a_process_without_work_is_no_rank)
{
	scoped(recordings_end) struct recordings r = {0};
	scoped(written_done) struct written w = {0};
	struct made_ring *m = r.rings;
	uint64_t id;

	recordings_begin(&r, 2);
	id = ring_launch(&m[1], KERNEL, STREAM);
	ring_times(&m[1], id, m[1].now_ns + 1000, m[1].now_ns + 5000);
	for (uint32_t i = 0; i < 2; i++)
		ring_look(&m[i]);

	write_trace(r.p, 2, r.names, &w);

	ck_assert_uint_eq(fmt_trace_n_ranks(w.trace), 1);
	ck_assert_uint_eq(w.result.ops, 1);
	ck_assert_uint_eq(w.result.calls, r.p[0]->counts.calls + r.p[1]->counts.calls);
}

/* A process without communicator and launcher rank, and a second GPU of a process with one: both
 * are numbered after the communicator's ranks. */
TEST(ranks_outside_the_communicator_come_last)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(rec_ranks_done) struct rec_ranks ranks = {0};
	struct rec_process *p[3];
	static const struct {
		uint32_t process;
		int device;
	} want[] = {{2, 0}, {1, 0}, {0, 0}, {1, 1}};

	ck_assert_int_eq(fmt_names_new(&names), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct rec_comm comm = {.id = 7, .n = 2, .rank = 2 - i};
		uint32_t track;

		p[i] = process(names, 100 + (int)i, i);
		ck_assert_int_eq(
			rec_add_track(p[i], &(struct rec_track){.kind = FMT_STREAM}, &track), 0);
		if (i == 0)
			continue;
		p[i]->nccl.comms = malloc(sizeof(comm));
		*p[i]->nccl.comms = comm;
		p[i]->nccl.n_comms = 1;
	}
	uint32_t track;
	ck_assert_int_eq(
		rec_add_track(p[1], &(struct rec_track){.kind = FMT_STREAM, .device = 1}, &track),
		0);

	ck_assert_int_eq(rec_ranks_find(p, 3, &ranks), 0);

	ck_assert_uint_eq(ranks.n, 4);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(ranks.ranks[i].number, i);
		ck_assert_uint_eq(ranks.ranks[i].process, want[i].process);
		ck_assert_int_eq(ranks.ranks[i].device, want[i].device);
	}
	for (uint32_t i = 0; i < 3; i++)
		rec_process_free(p[i]);
}
