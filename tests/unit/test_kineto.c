/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/kineto.h"

#include "formats/run/kineto/check.h"
#include "formats/trace/value.h"
#include "tests/unit/made.h"
#include "tests/unit/test.h"

/* A temporary folder for profiler files and traces. */
struct folder {
	char *path;
	struct kineto_report report;
};

static void folder_done(struct folder *f)
{
	kineto_report_done(&f->report);
	made_remove(f->path);
}

static void write_file(const struct folder *f, const char *name, const char *text)
{
	FILE *file = fopen(made_path(f->path, name), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

/* Imports `n` files, given as {name, text}. */
static int import(struct folder *f, const char *const (*files)[2], size_t n, struct fmt_error *err)
{
	char paths[4][256], output[256];
	const char *list[4];
	struct kineto_options o = {.files = list, .n_files = n, .output = output};

	f->path = made_directory();
	snprintf(output, sizeof(output), "%s/trace", f->path);
	for (size_t i = 0; i < n; i++) {
		write_file(f, files[i][0], files[i][1]);
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", f->path, files[i][0]);
		list[i] = paths[i];
	}
	return kineto_import(&o, &f->report, err);
}

static void put_track(struct text *t, const struct fmt_names *n, const struct fmt_track *l)
{
	text_str(t, l->kind == FMT_STREAM ? "gpu" : "host");
	if (l->text_ids & 1)
		text_printf(t, " '%s'", fmt_string(n, l->pid_text, NULL));
	else
		text_printf(t, " %lld", (long long)l->pid);
	if (l->text_ids & 2)
		text_printf(t, " '%s'", fmt_string(n, l->tid_text, NULL));
	else
		text_printf(t, " %lld", (long long)l->tid);
}

static void put_event(struct text *t, const struct fmt_names *n, const struct fmt_slice *s,
		      const struct fmt_event *e)
{
	const struct fmt_template *template = fmt_template(n, e->template);

	text_printf(t, "%s %s [", fmt_kind_name(template->kind),
		    fmt_string(n, template->name, NULL));
	put_track(t, n, fmt_track(n, s->rank, e->track));
	text_printf(t, "] %lld+%lld #%lld", (long long)e->start_ns, (long long)e->duration_ns,
		    (long long)e->correlation);
	for (uint32_t i = 0; i < template->n_args; i++) {
		text_printf(t, "%s%s=", i ? "," : " ", fmt_string(n, template->args[i].key, NULL));
		fmt_value_json(t, n, e, template, s->values + e->first_value, i);
	}
	text_char(t, '\n');
}

/* Prints the whole trace: a line for each slice and event. */
static void put_trace(struct text *t, struct fmt_trace *trace)
{
	for (uint32_t rank = 0; rank < fmt_trace_n_ranks(trace); rank++) {
		const struct fmt_rank *r = fmt_trace_rank(trace, rank);

		text_printf(t, "rank %u\n", r->number);
		for (uint32_t i = 0; i < r->n_slices; i++) {
			scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

			ck_assert_int_eq(fmt_slice_load(trace, rank, i, FMT_WANT_ALL, &s, NULL), 0);
			text_printf(t, "slice %lld %lld+%lld\n", (long long)s->iteration.number,
				    (long long)s->iteration.start_ns,
				    (long long)s->iteration.duration_ns);
			for (size_t k = 0; k < s->n_events; k++)
				put_event(t, fmt_trace_names(trace), s, &s->events[k]);
			for (size_t k = 0; k < s->n_ranges; k++)
				put_event(t, fmt_trace_names(trace), s, &s->ranges[k]);
		}
	}
	text_char(t, '\0');
}

#define DOC(events) "{\"traceEvents\":[" events "]}"
#define X(cat, name, pid, tid, ts, dur, args)                                                      \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid     \
	",\"ts\":" ts ",\"dur\":" dur ",\"args\":{" args "}}"
#define STEP(n, ts, dur) X("user_annotation", "ProfilerStep#" n, "1", "2", ts, dur, "")
#define LAUNCH(corr, ts)                                                                           \
	X("cuda_runtime", "cudaLaunchKernel", "1", "2", ts, "1", "\"correlation\":" corr)
#define KERNEL(name, corr, ts, dur, args)                                                          \
	X("kernel", name, "0", "7", ts, dur, "\"correlation\":" corr args)

#define PAIR(name, corr, ts) LAUNCH(corr, ts) "," KERNEL(name, corr, ts, "1", "")

#define TENSOR_LIST "\"Input Dims\":[[[2, 3], [4]], []],\"Input type\":[\"TensorList\"]"
#define HALF_TENSOR "\"Input Dims\":[[2, 5]],\"Input type\":[\"c10::Half\"]"
#define TWO_TENSORS "\"Input Dims\":[[8, 10], [2, 5], []],\"Input type\":[\"c10::Half\"]"
#define FOUR(a, b, c, d) a "," b "," c "," d
#define NAMED "\"stream 7\""
#define FLOW(phase, cat)                                                                           \
	"{\"ph\":\"" phase "\",\"id\":9,\"pid\":1,\"tid\":2,\"ts\":1,\"cat\":\"" cat               \
	"\",\"name\":\"a\",\"bp\":\"e\"}"

/* A file, and lines that its trace contains: one row for each rule of the importer's README.md. */
static const struct {
	const char *json;
	const char *lines[4];
} rows[] = {
	/* Whole microseconds, unsorted; an operation belongs to the iteration of its call. */
	{DOC(KERNEL("k", "5", "30", "4", ",\"grid\":[1, 1, 1]") "," STEP("4", "10", "10") "," STEP(
		 "5", "20", "10") "," LAUNCH("5", "12")),
	 {"slice 4 10000+10000\ncall cudaLaunchKernel [host 1 2] 12000+1000 #5 correlation=5\n"
	  "kernel k [gpu 0 7] 30000+4000 #5 correlation=5,grid=[1,1,1]\nrange ProfilerStep#4",
	  "slice 5 20000+10000\nrange"}},
	/* Fractions relative to a base time at the end of the file. */
	{"{\"traceEvents\":[" KERNEL("k", "5", "0.001", "1.25", "") "],\"baseTimeNanoseconds\":"
								    "1711964646000000001}",
	 {"kernel k [gpu 0 7] 1711964646000000002+1250 #5"}},
	/* Operations launched before the window, and by a graph. */
	{DOC(STEP("1", "10", "10") "," LAUNCH("7", "11") "," KERNEL(
		 "a", "6", "5", "2", "") "," KERNEL("b", "7", "21", "1",
						    "") "," KERNEL("c", "7", "22", "1", "")),
	 {"slice -1 5000+2000\nkernel a", "slice 1 10000+10000\ncall cudaLaunchKernel",
	  "kernel b [gpu 0 7] 21000+1000 #7 correlation=7\nkernel c"}},
	/* Old dialect: "External id" is the correlation. */
	{DOC(X("cuda_runtime", "cudaMalloc", "1", "2", "1", "1",
	       "\"External id\":9,\"cbid\":20,\"correlation\":9")),
	 {"call cudaMalloc [host 1 2] 1000+1000 #9 External id=9,cbid=20,correlation=9"}},
	/* The oldest dialect: other categories, stream names. */
	{DOC(FOUR(X("Runtime", "cudaMemcpyAsync", "1", "\"2\"", "1", "1",
		    "\"cbid\":41,\"correlation\":9"),
		  X("Memcpy", "Memcpy DtoD (Device -> Device)", "0", NAMED, "3", "1",
		    "\"correlation\":9"),
		  X("Kernel", "k", "0", NAMED, "5", "1", ""),
		  X("Memset", "Memset (Device)", "0", NAMED, "7", "1",
		    "")) "," FLOW("s", "async_gpu") "," FLOW("f", "forward_backward")),
	 {"slice 0 1000+7000\n"
	  "call cudaMemcpyAsync [host 1 '2'] 1000+1000 #9 cbid=41,correlation=9\n"
	  "memcpy Memcpy DtoD (Device -> Device) [gpu 0 'stream 7'] 3000+1000 #9 correlation=9\n"
	  "kernel k [gpu 0 'stream 7'] 5000+1000 #0\n"
	  "memset Memset (Device) [gpu 0 'stream 7'] 7000+1000 #0\n"}},
	/* Bandwidth is recomputed from bytes. */
	{DOC(X("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "0", "7", "1", "1",
	       "\"bytes\":2048,\"memory bandwidth (GB/s)\":1.2549019607843137")),
	 {"memcpy Memcpy HtoD (Pageable -> Device) [gpu 0 7] 1000+1000 #0 bytes=2048,memory "
	  "bandwidth (GB/s)=1.2549019607843137\n"}},
	{DOC(X("gpu_memset", "Memset (Device)", "0", "7", "1", "1",
	       "\"bytes\":3,\"memory bandwidth (GB/s)\":0.02000")),
	 {"memset Memset (Device) [gpu 0 7] 1000+1000 #0 bytes=3,memory bandwidth "
	  "(GB/s)=0.02000\n"}},
	/* Collectives: sizes from their own arguments ... */
	{DOC(KERNEL("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "1", "1", "1",
		    ",\"In msg nelems\":4,\"Out msg nelems\":8,\"dtype\":\"Float\"")),
	 {"collective=\"all_reduce\",dtype=\"Float\",message_bytes=32,correlation=1"}},
	/* ... from record_param_comms around the launch ... */
	{DOC(X("cpu_op", "record_param_comms", "1", "2", "10", "10",
	       "\"Collective name\":\"_allgather_base\",\"In msg nelems\":4,\"Out msg "
	       "nelems\":8,\"dtype\":\"BFloat16\"") "," LAUNCH("3",
							       "15") "," KERNEL("ncclDevKernel_"
										"Generic",
										"3", "16", "1",
										"")),
	 {"collective=\"all_gather\",dtype=\"BFloat16\",message_bytes=16,correlation=3"}},
	/* ... and from shapes (older profilers). */
	{DOC(FOUR(X("cpu_op", "record_param_comms", "1", "2", "10", "10", TENSOR_LIST),
		  X("user_annotation", "nccl:all_to_all", "1", "2", "11", "8", HALF_TENSOR),
		  LAUNCH("3", "15"), KERNEL("ncclKernel_SendRecv_RING", "3", "16", "1", ""))),
	 {"collective=\"all_to_all\",dtype=\"Half\",message_bytes=20,correlation=3"}},
	/* The operator lists its output too: the larger tensor is the message. */
	{DOC(FOUR(X("cpu_op", "c10d::_allgather_base_", "1", "2", "10", "10", TWO_TENSORS),
		  X("user_annotation", "nccl:_all_gather_base", "1", "2", "11", "8", HALF_TENSOR),
		  LAUNCH("3", "15"),
		  KERNEL("ncclKernel_AllGather_RING_LL_Sum_int8_t", "3", "16", "1", ""))),
	 {"collective=\"all_gather\",dtype=\"Half\",message_bytes=160,correlation=3"}},
	/* Without shapes, the annotation gives the kind; the size is unknown. */
	{DOC(X("user_annotation", "nccl:all_to_all", "1", "2", "11", "8", "") "," LAUNCH(
		 "3", "15") "," KERNEL("ncclDevKernel_SendRecv(ncclDevComm*)", "3", "16", "1", "")),
	 {"collective=\"all_to_all\",dtype=\"\",message_bytes=-1,correlation=3"}},
	/* The name of a reduction kernel contains the data type; that of a copy does not. */
	{DOC(KERNEL("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(a)", "1", "1", "1",
		    "") "," KERNEL("ncclKernel_AllReduce_RING_LL_Sum_float(a)", "2", "2", "1",
				   "") "," KERNEL("ncclKernel_Broadcast_RING_LL_Sum_int8_t(a)", "3",
						  "3", "1", "")),
	 {"collective=\"reduce_scatter\",dtype=\"BFloat16\",message_bytes=-1,correlation=1",
	  "collective=\"all_reduce\",dtype=\"Float\",message_bytes=-1,correlation=2",
	  "collective=\"broadcast\",dtype=\"\",message_bytes=-1,correlation=3"}},
	/* NCCL's symmetric-memory kernels, and MSCCL's kernels in RCCL. */
	{DOC(KERNEL("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32(ncclSymkDevWorkArgs4K)", "1", "1",
		    "1", "") "," KERNEL("mscclKernel_Sum_half_Simple_false", "2", "2", "1", "")),
	 {"=\"all_reduce\",dtype=\"Float\"", "collective mscclKernel_Sum_half_Simple_false"}},
	/* Communication kernels of other libraries are kernels. */
	{DOC(KERNEL("nvshmem_barrier", "1", "1", "1", "")), {"kernel nvshmem_barrier"}},
	/* The GPU copy of an annotation is not an iteration. */
	{DOC(STEP("1", "10", "10") "," X("gpu_user_annotation", "ProfilerStep#1", "0", "7", "12",
					 "30", "") "," LAUNCH("1", "12") "," KERNEL("k", "1", "13",
										    "1", "")),
	 {"slice 1 10000+10000\n", "range ProfilerStep#1 [gpu 0 7] 12000+30000"}},
	/* A last step without launches is not an iteration of its own. */
	{DOC(STEP("1", "10", "1000") "," STEP("2", "1010", "1000") "," STEP("3", "2010", "2")),
	 {"slice 2 1010000+1000000\n", "slice -2 2010000+2000\nrange ProfilerStep#3"}},
	/* Synchronisations as the profiler recorded them. */
	{DOC(X("cuda_sync", "Stream Wait Event", "0", "24", "5", "0",
	       "\"wait_on_stream\":20,\"wait_on_cuda_event_record_corr_id\":54,\"correlation\":3")),
	 {"sync Stream Wait Event [gpu 0 24] 5000+0 #3 "
	  "wait_on_stream=20,wait_on_cuda_event_record_corr_id=54,correlation=3"}},
	/* ROCm. */
	{DOC(X("cuda_runtime", "hipLaunchKernel", "1", "2", "1", "1",
	       "\"kernel\":\"k\",\"cid\":107,\"correlation\":2") "," X("gpu_memcpy",
								       "CopyDeviceToDevice", "2",
								       "0", "3", "1",
								       "\"device\":2,\"stream\":0,"
								       "\"correlation\":2,\"kind\":"
								       "\"DtoD\"")),
	 {"call hipLaunchKernel [host 1 2] 1000+1000 #2 kernel=\"k\",cid=107,correlation=2\n"
	  "memcpy CopyDeviceToDevice [gpu 2 0] 3000+1000 #2 "
	  "device=2,stream=0,correlation=2,kind=\"DtoD\""}},
	/* Ids that are strings, instants, arguments beside "args", keys with dots. */
	{DOC("{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"x\","
	     "\"ts\":7}," X("cpu_op", "a", "1", "2", "1", "0", "\".s\":1,\"gputrace seq\":4")),
	 {"mark Record Window End [host '' 'x'] 7000+0 #0 .s=\"g\"\n", "range a [host 1 2] "
								       "1000+0 #0 ..s=1\n"}},
	{DOC("{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":7,\"args\":{\"v\":1.50}}"),
	 {"mark c [host 1 ''] 7000+0 #0 .ph=\"C\",v=1.50\n"}},
	/* Iterations without the profiler's steps: numbered annotations ... */
	{DOC(X("user_annotation", "iteration 7", "1", "2", "0", "40",
	       "") "," X("user_annotation", "iteration 8", "1", "2", "50", "40", "")),
	 {"slice 7 0+40000\n", "slice 8 50000+40000\n"}},
	/* ... repeated launches ... */
	{DOC(PAIR("a", "1", "10") "," PAIR("b", "2", "11") "," PAIR("c", "3", "12") "," PAIR(
		 "a", "4",
		 "20") "," PAIR("b", "5",
				"21") "," PAIR("c", "6",
					       "22") "," PAIR("a", "7",
							      "30") "," PAIR("b", "8",
									     "31") "," PAIR("c",
											    "9",
											    "32")),
	 {"slice 0 10000+10000\n", "slice 1 20000+10000\n", "slice 2 30000+3000\n"}},
	/* ... or one iteration for the whole run. */
	{DOC(KERNEL("a", "1", "12", "5", "")), {"slice 0 12000+5000\nkernel a"}},
};

TEST_ROWS(test_dialects, rows)
{
	const char *const files[][2] = {{"trace.json", row->json}};
	scoped(folder_done) struct folder f = {0};
	scoped(text_done) struct text t = {0};
	struct fmt_error err = {0};
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;

	ck_assert_msg(import(&f, files, 1, &err) == 0, "%s: %s", row->json, err.what);
	trace = made_open(made_path(f.path, "trace"));
	put_trace(&t, trace);
	for (size_t k = 0; k < ARRAY_SIZE(row->lines) && row->lines[k]; k++)
		ck_assert_msg(strstr(t.data, row->lines[k]), "%s\n--- is not in\n%s", row->lines[k],
			      t.data);
}

TEST(test_order_does_not_matter)
{
	const char *const one[][2] = {
		{"a.json", DOC(LAUNCH("1", "1") "," LAUNCH("2", "1") "," KERNEL(
				   "k", "1", "2", "1", "") "," STEP("1", "0", "9"))}};
	const char *const two[][2] = {
		{"b.json", DOC(STEP("1", "0", "9") "," KERNEL("k", "1", "2", "1", "") "," LAUNCH(
				   "2", "1") "," LAUNCH("1", "1"))}};
	scoped(folder_done) struct folder f = {0};
	scoped(folder_done) struct folder g = {0};
	scoped(fmt_trace_closep) struct fmt_trace *a = NULL;
	scoped(fmt_trace_closep) struct fmt_trace *b = NULL;

	ck_assert_int_eq(import(&f, one, 1, NULL), 0);
	ck_assert_int_eq(import(&g, two, 1, NULL), 0);
	a = made_open(made_path(f.path, "trace"));
	b = made_open(made_path(g.path, "trace"));
	ck_assert_str_eq(fmt_trace_id(a), fmt_trace_id(b));
}

/* Operators have so many different shapes that shapes are stored with each event: the operator
 * around a collective still gives its size. */
TEST(test_sizes_among_many_shapes)
{
	enum { SHAPES = 40000 };
	scoped(text_done) struct text file = {0};
	scoped(folder_done) struct folder f = {0};
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	struct fmt_slice *slice;
	int64_t bytes = 0;

	text_str(&file, "{\"traceEvents\":[");
	for (int i = 0; i < SHAPES; i++)
		text_printf(&file,
			    X("cpu_op", "aten::add", "1", "2", "%d", "1",
			      "\"Input Dims\":[[%d]],\"Input type\":[\"float\"]") ",",
			    2 * i, i);
	text_str(&file, X("cpu_op", "c10d::_allgather_base_", "1", "2", "90000", "10",
			  TWO_TENSORS) "," LAUNCH("3", "90005") ",");
	text_str(&file, KERNEL("ncclDevKernel_AllGather_RING_LL", "3", "90006", "1", "") "]}");
	text_char(&file, 0);
	const char *const files[][2] = {{"a.json", file.data}};

	ck_assert_int_eq(import(&f, files, 1, NULL), 0);
	trace = made_open(made_path(f.path, "trace"));
	for (uint32_t i = 0; i < fmt_trace_rank(trace, 0)->n_slices; i++) {
		ck_assert_int_eq(fmt_slice_load(trace, 0, i, FMT_WANT_OPS, &slice, NULL), 0);
		for (size_t k = 0; k < slice->n_events; k++) {
			const struct fmt_event *e = &slice->events[k];
			const struct fmt_template *template =
				fmt_template(fmt_trace_names(trace), e->template);

			if (template->kind == FMT_COLLECTIVE)
				fmt_value_int(fmt_trace_names(trace), e, template,
					      fmt_event_values(slice, e), FMT_KEY_BYTES, &bytes);
		}
		fmt_slice_free(slice);
	}
	ck_assert_int_eq(bytes, 160);
}

#define RANKED(info, ts) "{\"distributedInfo\":" info ",\"traceEvents\":[" LAUNCH("1", ts) "]}"

/* The last file's host has a clock with a large offset. */
TEST(test_ranks_of_files)
{
	const char *const files[][2] = {
		{"a_rank3.json", DOC(LAUNCH("1", "1"))},
		{"rank-1.json", RANKED("{\"rank\":2}", "1")},
		{"c.json", RANKED("{\"rank\": 0, \"world_size\": 4}", "7000001")}};
	scoped(folder_done) struct folder f = {0};
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;

	ck_assert_int_eq(import(&f, files, 3, NULL), 0);
	t = made_open(made_path(f.path, "trace"));
	ck_assert_uint_eq(fmt_trace_n_ranks(t), 3);
	ck_assert_uint_eq(fmt_trace_rank(t, 0)->number, 0);
	ck_assert_uint_eq(fmt_trace_rank(t, 1)->number, 2);
	ck_assert_uint_eq(fmt_trace_rank(t, 2)->number, 3);
}

static const struct {
	const char *a, *b, *what;
} strangers[] = {
	{RANKED("{\"rank\":0}", "1"), RANKED("{\"rank\":0}", "1"),
	 "duplicate rank 0; a.json has it, too"},
	{RANKED("{\"rank\":0,\"world_size\":2}", "1"), RANKED("{\"rank\":1,\"world_size\":4}", "1"),
	 "its world_size is 4, that of a.json is 2"},
	{RANKED("{\"rank\":0,\"backend\":\"nccl\"}", "1"),
	 RANKED("{\"rank\":1,\"backend\":\"gloo\"}", "1"), "its backend is \"gloo\""},
	{RANKED("{\"rank\":0}", "1"), RANKED("{\"rank\":1}", "43000001"),
	 "begins 43.000 s after a.json ends"},
	{RANKED("{\"rank\":0}", "1"), DOC(""), "no events"},
};

TEST_ROWS(test_files_that_do_not_belong_together, strangers)
{
	const char *const files[][2] = {{"a.json", row->a}, {"b.json", row->b}};
	scoped(folder_done) struct folder f = {0};
	struct fmt_error err = {0};

	ck_assert_int_eq(import(&f, files, 2, &err), -EBADMSG);
	ck_assert_msg(strstr(err.what, row->what), "%s", err.what);
}

TEST(test_skipped_events_are_counted)
{
	const char *const files[][2] = {
		{"a.json",
		 DOC(LAUNCH("1",
			    "1") ",{\"ph\":\"s\",\"cat\":\"ac2g\",\"ts\":1},{\"ph\":\"s\","
				 "\"cat\":\"other\",\"ts\":1},{\"ph\":\"X\",\"name\":\"n\"},"
				 "{\"ph\":\"X\",\"ts\":1,\"dur\":-1},{\"ph\":\"X\",\"ts\":1e30},"
				 "{\"ts\":1},{\"ph\":\"M\",\"name\":\"process_name\"},"
				 "{\"ph\":\"X\",\"ts\":1.00001}")}};
	scoped(folder_done) struct folder f = {0};
	const struct kineto_rank_report *r;

	ck_assert_int_eq(import(&f, files, 1, NULL), 0);
	r = &f.report.ranks[0];
	ck_assert_uint_eq(r->events, 9);
	ck_assert_uint_eq(r->kept[FMT_CALL], 1);
	ck_assert_uint_eq(r->kept[FMT_MARK], 1);
	ck_assert_uint_eq(r->kept[FMT_RANGE], 1);
	ck_assert_uint_eq(r->names, 1);
	ck_assert_uint_eq(r->rebuilt, 1);
	ck_assert_uint_eq(r->skipped, 4);
	ck_assert_uint_eq(r->no_duration, 1);
	ck_assert_uint_eq(r->rounded, 1);
}

TEST(test_ranks_in_names_of_files)
{
	static const struct {
		const char *path;
		int64_t rank;
	} names[] = {
		{"rank-3.json.gz", 3},
		{"x/rank0/trace_rank_12.json", 12},
		{"Rank7.json", 7},
		{"rank4/trace.json", -1},
		{"host_123.456.pt.trace.json", -1},
		{"rank.json", -1},
		{"rank0of8_rank1.json", 1},
		{"rank9_local_rank1.json", 9},
		{"local_rank1.json", 1},
		{"rank-99999999999999999999.json", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_msg(kineto_rank_of_name(names[i].path) == names[i].rank, "%s",
			      names[i].path);
}
