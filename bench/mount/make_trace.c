/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a deterministic trace of any size that resembles training:
 *
 *     make_trace OUT RANKS ITERATIONS LAUNCHES
 *
 * Each iteration of each rank has LAUNCHES kernels and collectives with the calls that launch them,
 * a copy, a memset, ranges, memory instants and edges.
 */
#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/trace.h"
#include "formats/trace/store/writer.h"

#include <stdio.h>

#define KERNELS 40

struct making {
	struct fmt_names *names;
	uint32_t launch, wait, malloc, copy_call, copy, set, collective, range, mark;
	uint32_t kernels[KERNELS];
	fmt_str shapes[4];
	uint8_t rule, recorded;
	uint64_t seed;
};

static void check_result(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "make_trace: %s: %s\n", what, strerror(-r));
	exit(3);
}

static uint64_t any(struct making *m, uint64_t below)
{
	m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
	return (m->seed >> 33) % below;
}

static fmt_str string(struct making *m, const char *s)
{
	fmt_str n = 0;

	check_result(fmt_names_string(m->names, s, strlen(s), &n), "string");
	return n;
}

static struct fmt_arg arg_int(struct making *m, const char *key, int varies, int64_t value)
{
	return (struct fmt_arg){string(m, key), FMT_INT, (uint8_t)varies, value};
}

static struct fmt_arg arg_text(struct making *m, const char *key, enum fmt_type type,
			       const char *value)
{
	return (struct fmt_arg){string(m, key), (uint8_t)type, 0, string(m, value)};
}

static uint32_t template(struct making *m, enum fmt_kind kind, const char *name,
			 const char *category, const struct fmt_arg *args, uint32_t n)
{
	struct fmt_template s = {.kind = (uint8_t)kind,
				 .n_args = n,
				 .name = string(m, name),
				 .category = string(m, category),
				 .args = args};
	uint32_t ret = 0;

	check_result(fmt_names_template(m->names, &s, &ret), "template");
	return ret;
}

static void make_kernels(struct making *m)
{
	for (int i = 0; i < KERNELS; i++) {
		char name[128], grid[32];

		snprintf(name, sizeof(name),
			 "void at::native::vectorized_elementwise_kernel<%d, "
			 "at::native::AddFunctor<float>>(int, float)",
			 i);
		snprintf(grid, sizeof(grid), "[%d,1,1]", 16 * (i + 1));
		struct fmt_arg args[] = {
			arg_int(m, "registers per thread", 0, 32 + i),
			arg_int(m, "shared memory", 0, 1024 * i),
			arg_text(m, "grid", FMT_JSON, grid),
			arg_text(m, "block", FMT_JSON, "[128,1,1]"),
			arg_text(m, "est. achieved occupancy %", FMT_JSON, "31"),
		};
		m->kernels[i] = template(m, FMT_KERNEL, name, "kernel", args, ARRAY_SIZE(args));
	}
}

static void make_templates(struct making *m)
{
	struct fmt_arg cbid[] = {arg_int(m, "cbid", 0, 211)};
	struct fmt_arg bytes[] = {
		arg_int(m, "bytes", 1, 0),
		{string(m, "memory bandwidth (GB/s)"), FMT_RATE, 0, 0},
	};
	struct fmt_arg comm[] = {
		arg_int(m, FMT_KEY_COMM, 1, 0),
		arg_int(m, FMT_KEY_SEQ, 1, 0),
		arg_text(m, FMT_KEY_OP, FMT_STRING, "all_reduce"),
		arg_text(m, FMT_KEY_DTYPE, FMT_STRING, "Float"),
		arg_int(m, FMT_KEY_BYTES, 0, 1 << 20),
	};
	struct fmt_arg range[] = {arg_int(m, "External id", 1, 0),
				  {string(m, "Input Dims"), FMT_JSON, 1, 0}};
	struct fmt_arg memory[] = {arg_int(m, "Bytes", 1, 0), arg_int(m, "Addr", 1, 0),
				   arg_int(m, "Total Allocated", 1, 0)};

	m->launch = template(m, FMT_CALL, "cudaLaunchKernel", "cuda_runtime", cbid, 1);
	m->wait = template(m, FMT_CALL, "cudaStreamSynchronize", "cuda_runtime", NULL, 0);
	m->malloc = template(m, FMT_CALL, "cudaMalloc", "cuda_runtime", NULL, 0);
	m->copy_call = template(m, FMT_CALL, "cudaMemcpyAsync", "cuda_runtime", NULL, 0);
	m->copy = template(m, FMT_MEMCPY, "Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", bytes, 2);
	m->set = template(m, FMT_MEMSET, "Memset (Device)", "gpu_memset", bytes, 1);
	m->collective = template(m, FMT_COLLECTIVE, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
				 "kernel", comm, ARRAY_SIZE(comm));
	m->range = template(m, FMT_RANGE, "aten::add", "cpu_op", range, 2);
	m->mark = template(m, FMT_MARK, "[memory]", "cpu_instant_event", memory, 3);
}

static void make_names(struct making *m, uint32_t n_ranks)
{
	scoped(free_ptr) uint32_t *ranks = calloc(n_ranks, sizeof(*ranks));
	struct fmt_comm world = {.name = string(m, "world"), .n_ranks = n_ranks, .ranks = ranks};
	uint32_t number;

	make_kernels(m);
	make_templates(m);
	for (int i = 0; i < 4; i++) {
		char shape[32];

		snprintf(shape, sizeof(shape), "[[%d,%d],[]]", 64 << i, 1024);
		m->shapes[i] = string(m, shape);
	}
	check_result(fmt_names_rule(m->names, "event-wait", 0, &m->recorded), "rule");
	check_result(fmt_names_rule(m->names, "stream-sync", 1, &m->rule), "rule");
	for (uint32_t i = 0; i < n_ranks; i++) {
		struct fmt_track thread = {.kind = FMT_THREAD,
					   .pid = 4000 + i,
					   .tid = 4000 + i,
					   .name = string(m, "python3")};
		struct fmt_track compute = {.kind = FMT_STREAM, .pid = i, .tid = 7};
		struct fmt_track comm = {.kind = FMT_STREAM, .pid = i, .tid = 20};
		struct fmt_device device = {.ordinal = i,
					    .name = string(m, "NVIDIA H100 80GB HBM3")};

		ranks[i] = i;
		check_result(fmt_names_track(m->names, i, &thread, &number), "track");
		check_result(fmt_names_track(m->names, i, &compute, &number), "track");
		check_result(fmt_names_track(m->names, i, &comm, &number), "track");
		check_result(fmt_names_device(m->names, i, &device), "device");
	}
	check_result(fmt_names_comm(m->names, &world, &number), "communicator");
}

static uint32_t add_values(struct fmt_slice *s, const int64_t *values, size_t n)
{
	uint32_t at = (uint32_t)s->n_values;

	memcpy(s->values + at, values, n * sizeof(*values));
	s->n_values += n;
	return at;
}

/* Adds call number i of an iteration and the operation that it launches. */
static void add_launch(struct making *m, struct fmt_slice *s, uint32_t i, int64_t *host,
		       int64_t device[2])
{
	struct fmt_event *call = &s->events[s->n_events++], *op;
	int64_t two[] = {(int64_t)any(m, 1 << 20), (int64_t)(s->first_number / 32 + i / 16)};
	int kind = i % 16 == 15 ? 1 : i % 64 == 3 ? 2 : i % 64 == 7 ? 3 : 0;

	*call = (struct fmt_event){.template = kind == 2 ? m->copy_call : m->launch,
				   .start_ns = *host,
				   .duration_ns = 3000 + (int64_t)any(m, 900),
				   .correlation = s->first_number + i + 1};
	*host += call->duration_ns + 1500 + (int64_t)any(m, 2500);
	op = &s->events[s->n_events++];
	*op = *call;
	op->track = kind == 1 ? 2 : 1;
	op->template = m->kernels[i * 7 % KERNELS];
	op->duration_ns = 2000 + (int64_t)any(m, 9000);
	op->start_ns = device[kind == 1] > *host ? device[kind == 1] : *host;
	device[kind == 1] = op->start_ns + op->duration_ns + 400;
	if (kind == 1) {
		op->template = m->collective;
		two[0] = 0;
		op->first_value = add_values(s, two, 2);
	} else if (kind >= 2) {
		op->template = kind == 2 ? m->copy : m->set;
		op->first_value = add_values(s, two, 1);
	}
}

static void add_range(struct making *m, struct fmt_slice *s, uint32_t i, int64_t at)
{
	int64_t range[] = {i + 10, m->shapes[i % 4]};
	int64_t memory[] = {(int64_t)any(m, 1 << 20) * 512, 0x7f0000000000 + (int64_t)i * 4096,
			    (int64_t)any(m, 1u << 30)};

	s->ranges[s->n_ranges++] = (struct fmt_event){.template = m->range,
						      .start_ns = at - 200,
						      .duration_ns = 4500,
						      .first_value = add_values(s, range, 2)};
	if (i % 8 == 0)
		s->ranges[s->n_ranges++] =
			(struct fmt_event){.template = m->mark,
					   .start_ns = at - 100,
					   .first_value = add_values(s, memory, 3)};
}

static struct fmt_slice *make_slice(struct making *m, uint32_t rank, uint32_t k, uint32_t n,
				    fmt_number first)
{
	struct fmt_slice *s = calloc(1, sizeof(*s));
	int64_t start = 1700000000000000000 + (int64_t)k * n * 12000, host = start + 1000;
	int64_t device[2] = {start, start};

	s->rank = rank;
	s->index = k;
	s->first_number = first;
	s->events = calloc(2 * (size_t)n + 2, sizeof(*s->events));
	s->ranges = calloc(2 * (size_t)n, sizeof(*s->ranges));
	s->values = calloc(8 * (size_t)n, sizeof(*s->values));
	s->edges = calloc(n, sizeof(*s->edges));
	m->seed = (uint64_t)rank * 1000003 + k;
	for (uint32_t i = 0; i < n; i++) {
		if (i % 4 == 0)
			add_range(m, s, i, host);
		add_launch(m, s, i, &host, device);
	}
	s->events[s->n_events++] =
		(struct fmt_event){.template = m->malloc, .start_ns = host, .duration_ns = 9000};
	s->events[s->n_events++] = (struct fmt_event){
		.template = m->wait, .start_ns = host + 9500, .duration_ns = 5000};
	for (uint32_t i = 1; i < n; i += 8)
		s->edges[s->n_edges++] =
			(struct fmt_edge){.from = first + n + i,
					  .to = first + i,
					  .kind = FMT_EDGE_START,
					  .rule = i % 16 == 1 ? m->recorded : m->rule};
	s->iteration = (struct fmt_iteration){
		.number = k, .start_ns = start, .duration_ns = host + 15000 - start};
	check_result(fmt_slice_sort(s, NULL), "sort");
	return s;
}

static void make_rank(struct making *m, struct fmt_writer *w, uint32_t rank, uint32_t n_iterations,
		      uint32_t n)
{
	struct fmt_rank_writer *rw;
	struct fmt_error err;

	check_result(fmt_writer_rank(w, rank, rank, &rw, &err), "rank");
	for (uint32_t k = 0; k < n_iterations; k++) {
		struct fmt_slice *s = make_slice(m, rank, k, n, fmt_rank_writer_next(rw));

		check_result(fmt_rank_writer_slice(rw, s, &err), "slice");
		fmt_slice_free(s);
	}
}

int main(int argc, char **argv)
{
	struct making m = {0};
	struct fmt_writer *w;
	struct fmt_error err = {0};

	if (argc < 5) {
		fprintf(stderr, "usage: make_trace OUT RANKS ITERATIONS LAUNCHES\n");
		return 2;
	}
	uint32_t n_ranks = (uint32_t)atoi(argv[2]), n_iterations = (uint32_t)atoi(argv[3]);
	uint32_t n = (uint32_t)atoi(argv[4]);
	check_result(fmt_names_new(&m.names), "names");
	make_names(&m, n_ranks);
	check_result(fmt_writer_open(argv[1], m.names, 3, &w, &err), "open");
	for (uint32_t r = 0; r < n_ranks; r++)
		make_rank(&m, w, r, n_iterations, n);
	check_result(fmt_writer_close(w, &err), err.what);
	fmt_names_free(m.names);
	return 0;
}
