/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "tests/unit/rings.h"
#include "tests/unit/test.h"

static const char *text(const struct fmt_names *n, fmt_str s)
{
	return fmt_string(n, s, NULL);
}

TEST(a_launch_is_a_call_and_an_operation)
{
	scoped(recording_end) struct recording r = {0};
	uint64_t id;

	recording_begin(&r, 3);
	id = ring_launch(&r.ring, KERNEL, STREAM);
	ring_look(&r.ring);
	ck_assert_uint_eq(r.process->counts.calls, 5);
	ck_assert_uint_eq(r.process->counts.ops, 1);
	ck_assert_uint_eq(rec_handles_unknown(r.process->handles), 0);

	const struct rec_event *call = &r.process->events[4], *op = &r.process->events[5];

	ck_assert_int_eq(call->kind, FMT_CALL);
	ck_assert_str_eq(text(r.names, fmt_template(r.names, call->template)->name),
			 "cuLaunchKernel");
	ck_assert_int_eq(op->kind, FMT_KERNEL);
	ck_assert_str_eq(text(r.names, fmt_template(r.names, op->template)->name), "step");
	ck_assert_uint_eq(op->call, 4);
	ck_assert_int_eq(op->device, 3);
	ck_assert_uint_eq(op->correlation, id + 1);
	ck_assert_int_eq(r.process->tracks[op->track].kind, FMT_STREAM);
}

/* Returns argument `key` of the call `name`. */
static int64_t call_argument(const struct rec_process *p, const char *name, const char *key)
{
	for (size_t i = 0; i < p->n_events; i++) {
		const struct fmt_template *s = fmt_template(p->names, p->events[i].template);
		uint32_t at;

		if (strcmp(text(p->names, s->name), name) == 0 &&
		    fmt_template_varying(p->names, s, key, &at))
			return p->values[p->events[i].first_value + at];
	}
	return -1;
}

TEST(reused_handles_are_distinct)
{
	scoped(recording_end) struct recording r = {0};

	recording_begin(&r, 0);
	ring_call(&r.ring, "cuStreamDestroy_v2", STREAM);
	ring_out(&r.ring, 0, STREAM);
	ring_call(&r.ring, "cuStreamCreateWithPriority", 0x100, 1, 0);
	ring_call(&r.ring, "cuStreamQuery", STREAM);
	ring_call(&r.ring, "cuEventQuery", 0xdead);
	ring_look(&r.ring);
	ck_assert_int_eq(call_argument(r.process, "cuStreamCreate", "phStream.out"), STREAM);
	ck_assert_int_eq(call_argument(r.process, "cuStreamCreate", "phStream.id"), 1);
	ck_assert_int_eq(call_argument(r.process, "cuStreamDestroy_v2", "hStream.id"), 1);
	ck_assert_int_eq(call_argument(r.process, "cuStreamQuery", "hStream.id"), 2);
	ck_assert_int_eq(call_argument(r.process, "cuEventQuery", "hEvent.id"), 0);
	ck_assert_int_eq(call_argument(r.process, "cuEventQuery", "hEvent"), 0xdead);
}

/* Memory records between the records of nested calls belong to their own call: cublasSgemm reads
 * alpha before the launch. */
TEST(memory_belongs_to_its_call)
{
	scoped(recording_end) struct recording r = {0};
	struct made_ring *m = &r.ring;
	const uint64_t launch[] = {KERNEL, 4, 1, 1, 32, 1, 1, 0, STREAM, 0, 0};
	const uint64_t gemm[14] = {0x9000, 0, 0, 1, 1, 1, 0x100, 0, 1, 0, 1, 0x100, 0, 1};
	const float alpha = 1.5f, beta = 0;

	recording_begin(&r, 0);
	ring_blob(m, 6, CAP_BLOB_BEFORE, &alpha, 4);
	ring_blob(m, 11, CAP_BLOB_BEFORE, &beta, 4);
	m->ordinal++;
	ring_call_at(m, "cuLaunchKernel", 1, 0, launch, ARRAY_SIZE(launch));
	m->ordinal -= 2;
	ring_look(m); /* the outer call has not returned yet */
	ring_call_at(m, "cublasSgemm_v2", 0, 0, gemm, ARRAY_SIZE(gemm));
	m->ordinal++;
	ring_call(m, "cuStreamQuery", STREAM);
	ring_look(m);
	ck_assert_int_eq(call_argument(r.process, "cuLaunchKernel", "blockDimZ.in"), -1);
	ck_assert_int_ne(call_argument(r.process, "cublasSgemm_v2", "alpha.in"), -1);
	ck_assert_str_eq(
		text(r.names, (fmt_str)call_argument(r.process, "cublasSgemm_v2", "alpha.in")),
		"1.5");
	ck_assert_str_eq(
		text(r.names, (fmt_str)call_argument(r.process, "cublasSgemm_v2", "beta.in")), "0");
	ck_assert_int_eq(call_argument(r.process, "cuStreamQuery", "hStream.in"), -1);
}

TEST(failed_calls_launch_nothing)
{
	scoped(recording_end) struct recording r = {0};
	const uint64_t words[] = {KERNEL, 4, 1, 1, 32, 1, 1, 0, STREAM, 0, 0};

	recording_begin(&r, 0);
	ring_call_at(&r.ring, "cuLaunchKernel", 0, 700, words, ARRAY_SIZE(words));
	ring_look(&r.ring);
	ck_assert_uint_eq(r.process->counts.failed, 1);
	ck_assert_uint_eq(r.process->counts.ops, 0);
	ck_assert_int_eq(call_argument(r.process, "cuLaunchKernel", "result"), 700);
}

/* One row for each copy: the call, its argument words, and the name of the operation. */
TEST(copies_are_named_by_direction)
{
	static const struct {
		const char *call;
		uint64_t words[6];
		uint32_t n;
		const char *name;
	} rows[] = {
		{"cuMemcpyHtoDAsync_v2",
		 {0x10000, 0x99, 64, STREAM},
		 4,
		 "Memcpy HtoD (Pageable -> Device)"},
		{"cuMemcpyHtoDAsync_v2",
		 {0x10000, 0x20010, 64, STREAM},
		 4,
		 "Memcpy HtoD (Pinned -> Device)"},
		{"cuMemcpyDtoH_v2", {0x99, 0x10000, 64}, 3, "Memcpy DtoH (Device -> Pageable)"},
		{"cuMemcpyDtoDAsync_v2",
		 {0x10000, 0x10040, 64, STREAM},
		 4,
		 "Memcpy DtoD (Device -> Device)"},
		{"cuMemcpyAsync",
		 {0x10010, 0x20010, 64, STREAM},
		 4,
		 "Memcpy HtoD (Pinned -> Device)"},
		{"cuMemcpy", {0x99, 0x10010, 64}, 3, "Memcpy DtoH (Device -> Pageable)"},
		{"cuMemcpyPeerAsync",
		 {0x10000, CONTEXT, 0x10040, CONTEXT, 64, STREAM},
		 6,
		 "Memcpy PtoP (Device -> Device)"},
	};
	scoped(recording_end) struct recording r = {0};

	recording_begin(&r, 0);
	ring_out(&r.ring, 0, 0x10000);
	ring_call(&r.ring, "cuMemAlloc_v2", 0x100, 0x1000);
	ring_out(&r.ring, 0, 0x20000);
	ring_call(&r.ring, "cuMemHostAlloc", 0x100, 0x1000, 0);
	ring_look(&r.ring);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct rec_event *op;

		ring_call_at(&r.ring, rows[i].call, 0, 0, rows[i].words, rows[i].n);
		ring_look(&r.ring);
		op = &r.process->events[r.process->n_events - 1];
		ck_assert_int_eq(op->kind, FMT_MEMCPY);
		ck_assert_str_eq(text(r.names, fmt_template(r.names, op->template)->name),
				 rows[i].name);
		ck_assert_int_eq(r.process->values[op->first_value], 64);
	}
}

TEST(stream_waits_are_recorded)
{
	scoped(recording_end) struct recording r = {0};
	uint64_t recorded;

	recording_begin(&r, 0);
	ring_out(&r.ring, 0, OTHER_STREAM);
	ring_call(&r.ring, "cuStreamCreate", 0x100, 1);
	ring_out(&r.ring, 0, EVENT);
	ring_call(&r.ring, "cuEventCreate", 0x100, 0);
	ring_launch(&r.ring, KERNEL, STREAM);
	recorded = ring_call(&r.ring, "cuEventRecord", EVENT, STREAM);
	ring_call(&r.ring, "cuStreamWaitEvent", OTHER_STREAM, EVENT, 0);
	ring_call(&r.ring, "cuStreamSynchronize", OTHER_STREAM);
	ring_look(&r.ring);
	ck_assert_int_eq(call_argument(r.process, "Stream Wait Event", "stream"), 2);
	ck_assert_int_eq(call_argument(r.process, "Stream Wait Event", "wait_on_stream"), 1);
	ck_assert_int_eq(
		call_argument(r.process, "Stream Wait Event", "wait_on_cuda_event_record_corr_id"),
		(int64_t)recorded + 1);
	ck_assert_int_eq(call_argument(r.process, "Stream Sync", "stream"), 2);
}

static void exchange(struct made_ring *m, uint64_t peer, const char *call, int64_t start_ns,
		     int64_t end_ns)
{
	ring_call_at(m, "ncclGroupStart", 0, 0, NULL, 0);
	exchange_calls(m, 1ul << peer, call);
	end_group(m, start_ns, end_ns);
}

/* Of three ranks, 0 sends to 1 and then to 2, between two all-reduces. */
TEST(collectives_are_matched_by_order)
{
	scoped(recordings_end) struct recordings r = {0};
	scoped(written_done) struct written w = {0};
	struct made_ring *m = r.rings;

	recordings_begin(&r, 3);
	for (uint32_t i = 0; i < 3; i++) {
		join_comm(&m[i], 3, 2 - i);
		reduce(&m[i], 1100000 + i, 1200000);
	}
	exchange(&m[2], 1, "ncclSend", 1210000, 1220000);
	exchange(&m[1], 0, "ncclRecv", 1210000, 1220000);
	exchange(&m[2], 2, "ncclSend", 1230000, 1240000);
	exchange(&m[0], 0, "ncclRecv", 1230000, 1240000);
	for (uint32_t i = 0; i < 3; i++) {
		reduce(&m[i], 1300000 + i, 1400000);
		ring_look(&m[i]);
	}

	write_trace(r.p, 3, r.names, &w);
	const struct fmt_names *n = fmt_trace_names(w.trace);
	/* The expected sequence number of each collective, by rank. Rank 0 is the last process. */
	static const int64_t want[3][4] = {{0, 1, 2, 3}, {0, 1, 3, -1}, {0, 2, 3, -1}};

	ck_assert_uint_eq(fmt_trace_n_ranks(w.trace), 3);
	ck_assert_uint_eq(fmt_n_comms(n), 1);
	ck_assert_uint_eq(fmt_comm(n, 0)->n_ranks, 3);
	ck_assert_uint_eq(w.result.collectives, 10);
	ck_assert_uint_eq(w.result.unmatched, 0);
	for (uint32_t rank = 0; rank < 3; rank++) {
		size_t seen = 0;

		for (uint32_t k = 0; k < fmt_trace_rank(w.trace, rank)->n_slices; k++) {
			scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

			ck_assert_int_eq(fmt_slice_load(w.trace, rank, k, FMT_WANT_ALL, &s, NULL),
					 0);
			for (size_t i = 0; i < s->n_events; i++) {
				const struct fmt_event *e = &s->events[i];

				if (fmt_template(n, e->template)->kind != FMT_COLLECTIVE)
					continue;
				ck_assert_int_eq(s->values[e->first_value + FMT_COLLECTIVE_SEQ],
						 want[rank][seen]);
				seen++;
			}
		}
		ck_assert_uint_eq(seen, rank == 0 ? 4 : 3);
	}
}

/* NCCL launches one kernel for a group, on one of its streams. */
TEST(a_kernel_is_of_all_streams_of_its_group)
{
	scoped(recording_end) struct recording r = {0};
	uint64_t words[] = {0x10000, 0x10000, 256, 7, 0, COMM, OTHER_STREAM};
	const char *parts;

	recording_begin(&r, 0);
	ring_out(&r.ring, 0, OTHER_STREAM);
	ring_call(&r.ring, "cuStreamCreate", 0x100, 1);
	join_comm(&r.ring, 2, 0);
	ring_call_at(&r.ring, "ncclGroupStart", 0, 0, NULL, 0);
	ring_call_at(&r.ring, "ncclAllReduce", 0, 0, words, 7);
	words[2] = 512;
	words[6] = STREAM;
	ring_call_at(&r.ring, "ncclAllReduce", 0, 0, words, 7);
	end_group(&r.ring, 1100000, 1200000);
	ring_look(&r.ring);
	ck_assert_uint_eq(r.process->nccl.n_collectives, 1);
	ck_assert_int_eq(r.process->nccl.collectives[0].bytes, 4 * (256 + 512));
	parts = text(r.names, r.process->nccl.collectives[0].parts);
	ck_assert_msg(strstr(parts, "1024") < strstr(parts, "2048"), "%s", parts);
}

/* Of a communicator of three ranks, 0 and 2 were recorded. */
TEST(missing_ranks_are_named)
{
	scoped(recordings_end) struct recordings r = {0};
	scoped(written_done) struct written w = {0};
	struct made_ring *m = r.rings;

	recordings_begin(&r, 2);
	for (uint32_t i = 0; i < 2; i++) {
		join_comm(&m[i], 3, 2 * i);
		reduce(&m[i], 1100000 + i, 1200000);
		exchange(&m[i], 2 - 2 * i, i ? "ncclRecv" : "ncclSend", 1210000, 1220000);
		ring_look(&m[i]);
	}

	write_trace(r.p, 2, r.names, &w);
	const struct fmt_names *n = fmt_trace_names(w.trace);
	scoped(free_ptr) struct fmt_membership *list = NULL;
	size_t n_list;

	ck_assert_str_eq(fmt_fact_value(n, FMT_WHOLE_TRACE, "missing_ranks"), "[1]");
	ck_assert_str_eq(fmt_fact_value(n, FMT_WHOLE_TRACE, FMT_MISSING_KEY), "1");
	ck_assert_int_eq(fmt_memberships_get(n, 1, &list, &n_list), 0);
	ck_assert_uint_eq(n_list, 1);
	ck_assert_uint_eq(list->rank, 2);
	ck_assert_uint_eq(list->n, 3);
	ck_assert_uint_eq(list->comm, 0);
	ck_assert(list->id != 0 && list->parent == 0);
	ck_assert_int_eq(list->device, 0);
}

/* A thread reuses the id of one that has ended. */
TEST(threads_with_the_same_id_share_a_track)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(rec_process_freep) struct rec_process *p = NULL;
	scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
	scoped(written_done) struct written w = {0};
	struct made_ring m[2];
	uint32_t at;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	p = process(names, 100, 0);
	for (uint32_t i = 0; i < 2; i++)
		ring_open(&m[i], p, i);
	p->tracks[1].number = p->tracks[0].number;
	for (uint32_t i = 0; i < 300; i++) {
		m[i / 150].now_ns = 1000000 + i * 5000;
		ring_call(&m[i / 150], "cuEventQuery", 1000 + i);
	}
	for (uint32_t i = 0; i < 2; i++)
		ring_look(&m[i]);

	write_trace(&p, 1, names, &w);
	ck_assert_int_eq(fmt_slice_load(w.trace, 0, 0, FMT_WANT_ALL, &s, NULL), 0);
	ck_assert_uint_eq(s->n_events, 300);
	for (uint32_t i = 0; i < 300; i++) {
		ck_assert_uint_eq(s->events[i].track, 0);
		ck_assert_int_eq(fmt_template_varying(names,
						      fmt_template(names, s->events[i].template),
						      "hEvent", &at),
				 1);
		ck_assert_int_eq(s->values[s->events[i].first_value + at], 1000 + i);
	}
	for (uint32_t i = 0; i < 2; i++)
		ring_close(&m[i]);
}

TEST(operations_without_times_are_counted)
{
	scoped(recording_end) struct recording r = {0};
	scoped(written_done) struct written w = {0};
	uint64_t id;

	recording_begin(&r, 0);
	ring_launch(&r.ring, KERNEL, STREAM);
	id = ring_launch(&r.ring, KERNEL, STREAM);
	ring_times(&r.ring, id, r.ring.now_ns, r.ring.now_ns + 1000);
	ring_look(&r.ring);

	write_trace(&r.process, 1, r.names, &w);

	ck_assert_uint_eq(w.result.ops, 1);
	ck_assert_uint_eq(w.result.without_times, 1);
	ck_assert_str_eq(fmt_fact_value(fmt_trace_names(w.trace), FMT_WHOLE_TRACE,
					"capture.operations_without_times"),
			 "1");
}

TEST(an_operation_begins_after_its_launch)
{
	scoped(recording_end) struct recording r = {0};
	scoped(written_done) struct written w = {0};
	scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
	int64_t launched_ns;
	uint64_t id;

	recording_begin(&r, 0);
	launched_ns = r.ring.now_ns;
	id = ring_launch(&r.ring, KERNEL, STREAM);
	ring_times(&r.ring, id, launched_ns - 400, launched_ns + 3000);
	ring_look(&r.ring);
	write_trace(&r.process, 1, r.names, &w);
	ck_assert_int_eq(fmt_slice_load(w.trace, 0, 0, FMT_WANT_ALL, &s, NULL), 0);
	for (size_t i = 0; i < s->n_events; i++) {
		const struct fmt_event *e = &s->events[i];

		if (fmt_template(r.names, e->template)->kind != FMT_KERNEL)
			continue;
		ck_assert_int_eq(e->start_ns, launched_ns);
		ck_assert_int_eq(e->duration_ns, 3000);
		launched_ns = -1;
	}
	ck_assert_int_eq(launched_ns, -1);
}

/* The driver does not report parameter offsets. */
TEST(launches_without_parameters_are_counted)
{
	scoped(recording_end) struct recording r = {0};
	const uint32_t none[2] = {0};

	recording_begin(&r, 0);
	ring_call(&r.ring, "cuLaunchKernel", KERNEL, 4, 1, 1, 32, 1, 1, 0, STREAM, 0x7000, 0);
	ring_launch(&r.ring, KERNEL, STREAM);
	ring_blob(&r.ring, 9, CAP_BLOB_PARAMS, none, sizeof(none));
	ring_call(&r.ring, "cuLaunchKernel", KERNEL, 4, 1, 1, 32, 1, 1, 0, STREAM, 0x7000, 0);
	ring_look(&r.ring);
	ck_assert_uint_eq(r.process->counts.without_parameters, 1);
}
