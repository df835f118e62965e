/* SPDX-License-Identifier: Apache-2.0 */

/* A small synthetic training run: each iteration of each rank launches layers of kernels with an
 * all-reduce after each layer, copies the loss, and waits. The last rank is slower, so the other
 * ranks wait in the collectives. For tests of reports and exporters. */
#pragma once

#include "tests/unit/made.h"

#include <stdbool.h>

enum { TRAINING_KERNELS = 4 }; /* per layer */

struct training {
	struct made made; /* names and random numbers */
	uint32_t ranks, iterations, layers;
	bool overlaps;	 /* collectives may overlap each other */
	bool runs_ahead; /* the host does not wait for the loss: iterations overlap */
	int64_t late_ns; /* added to each kernel of the last rank */
	uint32_t polls;	 /* additional calls in each iteration */
	int64_t address; /* address argument of one more call, named like a size; 0: no such call */
	uint32_t total, poll, launch, sync, copy_call, kernels[TRAINING_KERNELS], collective, copy,
		step, mark, root;	/* root: another template for rank 0's collective, or 0 */
	struct fmt_slice **slices;	/* by rank; of the current iteration */
	int64_t *host, *compute, *comm; /* by rank: when each is free */
	int64_t *sequence;
	uint64_t *correlation;
};

/* Hostile input: special characters of JSON and XML, control characters, invalid UTF-8. */
#define TRAINING_HOSTILE "void k<\"a\\b\">(&amp;\x01\x1b[31m\xff\xc3) ]]>\n\t\xe2\x82\xac"

static inline void training_names(struct training *t)
{
	static const char *const kernels[TRAINING_KERNELS] = {
		"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>(Params)",
		"void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor>(int)",
		"flash_fwd_kernel", TRAINING_HOSTILE};
	struct made *m = &t->made;
	const struct fmt_arg correlation = {.key = made_string(m, "correlation"),
					    .type = FMT_CORRELATION};
	const struct fmt_arg comm[] = {
		{.key = made_string(m, FMT_KEY_COMM), .type = FMT_INT, .varies = 1},
		{.key = made_string(m, FMT_KEY_SEQ), .type = FMT_INT, .varies = 1},
		{.key = made_string(m, FMT_KEY_OP),
		 .type = FMT_STRING,
		 .value = made_string(m, "all_reduce")},
		{.key = made_string(m, FMT_KEY_DTYPE),
		 .type = FMT_STRING,
		 .value = made_string(m, "BFloat16")},
		{.key = made_string(m, FMT_KEY_BYTES), .type = FMT_INT, .value = 16 << 20},
		correlation,
	};
	const struct fmt_arg copy[] = {
		{.key = made_string(m, "bytes"), .type = FMT_INT, .varies = 1},
		correlation,
		{.key = made_string(m, "memory bandwidth (GB/s)"), .type = FMT_RATE},
	};
	const struct fmt_arg mark[] = {
		{.key = made_string(m, ".s"), .type = FMT_STRING, .value = made_string(m, "t")},
		{.key = made_string(m, "Total Allocated"), .type = FMT_INT, .varies = 1},
		{.key = made_string(m, "note"), .type = FMT_STRING, .varies = 1},
		{.key = made_string(m, "shape"), .type = FMT_JSON, .varies = 1},
	};

	t->total = made_template(m, FMT_CALL, "cuDeviceTotalMem_v2", copy, 1);
	t->poll = made_template(m, FMT_CALL, "cuStreamIsCapturing", NULL, 0);
	t->launch = made_template(m, FMT_CALL, "cudaLaunchKernel", &correlation, 1);
	t->sync = made_template(m, FMT_CALL, "cudaStreamSynchronize", &correlation, 1);
	t->copy_call = made_template(m, FMT_CALL, "cudaMemcpyAsync", &correlation, 1);
	for (int i = 0; i < TRAINING_KERNELS; i++)
		t->kernels[i] = made_template(m, FMT_KERNEL, kernels[i], &correlation, 1);
	t->collective =
		made_template(m, FMT_COLLECTIVE, "ncclDevKernel_AllReduce_Sum_bf16", comm, 6);
	t->copy = made_template(m, FMT_MEMCPY, "Memcpy DtoH (Device -> Pageable)", copy, 3);
	t->step = made_template(m, FMT_RANGE, "ProfilerStep", NULL, 0);
	t->mark = made_template(m, FMT_MARK, "[memory]", mark, 4);
}

static inline void training_init(struct training *t, uint32_t ranks, uint32_t iterations,
				 uint32_t layers)
{
	uint32_t *list = calloc(ranks, sizeof(*list)), n;
	struct made *m = &t->made;
	struct fmt_comm world = {.n_ranks = ranks, .ranks = list};

	memset(t, 0, sizeof(*t));
	t->ranks = ranks;
	t->iterations = iterations;
	t->layers = layers;
	t->late_ns = 30000;
	m->seed = 7;
	ck_assert_int_eq(fmt_names_new(&m->names), 0);
	training_names(t);
	for (uint32_t i = 0; i < ranks; i++) {
		struct fmt_track thread = {.kind = FMT_THREAD, .pid = 4000 + i, .tid = 4000 + i};
		struct fmt_track stream = {.kind = FMT_STREAM, .pid = i % 8, .tid = 7};
		struct fmt_device device = {.ordinal = i % 8,
					    .name = made_string(m, "NVIDIA H100 80GB HBM3")};

		list[i] = i;
		ck_assert_int_eq(fmt_names_track(m->names, i, &thread, &n), 0);
		ck_assert_int_eq(fmt_names_track(m->names, i, &stream, &n), 0);
		stream.tid = 20;
		ck_assert_int_eq(fmt_names_track(m->names, i, &stream, &n), 0);
		ck_assert_int_eq(fmt_names_device(m->names, i, &device), 0);
		ck_assert_int_eq(
			fmt_names_fact(m->names, i, "cuda_driver_version", made_string(m, "12040")),
			0);
		ck_assert_int_eq(fmt_names_fact(m->names, i, "hostile \"\x02\xff",
						made_string(m, "] broken")),
				 0);
	}
	world.name = made_string(m, "tp");
	ck_assert_int_eq(fmt_names_comm(m->names, &world, &n), 0);
	t->slices = calloc(ranks, sizeof(struct fmt_slice *));
	t->host = calloc(ranks, sizeof(*t->host));
	t->compute = calloc(ranks, sizeof(*t->compute));
	t->comm = calloc(ranks, sizeof(*t->comm));
	t->sequence = calloc(ranks, sizeof(*t->sequence));
	t->correlation = calloc(ranks, sizeof(*t->correlation));
	for (uint32_t i = 0; i < ranks; i++)
		t->host[i] = t->compute[i] = t->comm[i] = 1700000000000000000 + 1234567;
	free(list);
}

static inline void training_done(struct training *t)
{
	made_done(&t->made);
	free(t->slices);
	free(t->host);
	free(t->compute);
	free(t->comm);
	free(t->sequence);
	free(t->correlation);
}

/* Adds a call and the operation that it launches. Returns the operation. */
static inline struct fmt_event *training_launch(struct training *t, uint32_t rank, uint32_t call,
						uint32_t template, uint32_t track)
{
	struct fmt_slice *s = t->slices[rank];
	struct fmt_event *c = &s->events[s->n_events++], *op = &s->events[s->n_events++];

	t->host[rank] += 2000 + (int64_t)made_random(&t->made, 3000);
	*c = (struct fmt_event){.template = call,
				.start_ns = t->host[rank],
				.duration_ns = 3000 + (int64_t)made_random(&t->made, 2000),
				.correlation = ++t->correlation[rank]};
	t->host[rank] += c->duration_ns;
	*op = (struct fmt_event){.template = template,
				 .track = track,
				 .correlation = c->correlation,
				 .start_ns = t->host[rank] + 2000,
				 .first_value = (uint32_t)s->n_values};
	return op;
}

static inline void training_layer(struct training *t, uint32_t layer)
{
	int64_t last = 0;
	struct fmt_event **meeting = calloc(t->ranks, sizeof(struct fmt_event *));

	for (uint32_t r = 0; r < t->ranks; r++) {
		for (int k = 0; k < TRAINING_KERNELS; k++) {
			struct fmt_event *op = training_launch(t, r, t->launch, t->kernels[k], 1);

			op->start_ns = op->start_ns > t->compute[r] ? op->start_ns : t->compute[r];
			op->duration_ns = (4 - k) * 40000 + (int64_t)made_random(&t->made, 30000) +
					  (r == t->ranks - 1 ? t->late_ns : 0);
			t->compute[r] = op->start_ns + op->duration_ns + 1500;
		}
		meeting[r] = training_launch(t, r, t->launch, t->collective, 2);
		if (meeting[r]->start_ns < t->compute[r])
			meeting[r]->start_ns = t->compute[r];
		if (!t->overlaps && meeting[r]->start_ns < t->comm[r])
			meeting[r]->start_ns = t->comm[r];
		t->slices[r]->values[t->slices[r]->n_values++] = 0;
		t->slices[r]->values[t->slices[r]->n_values++] = t->sequence[r]++;
		last = meeting[r]->start_ns > last ? meeting[r]->start_ns : last;
	}
	meeting[0]->template = t->root ? t->root : t->collective;
	for (uint32_t r = 0; r < t->ranks; r++) {
		meeting[r]->duration_ns = last + 90000 - meeting[r]->start_ns;
		t->comm[r] = last + 91000;
		if (layer % 4 == 3 && !t->runs_ahead)
			t->compute[r] = t->comm[r];
	}
	free(meeting);
}

static inline void training_end(struct training *t, uint32_t r)
{
	struct fmt_slice *s = t->slices[r];
	struct fmt_event *op = training_launch(t, r, t->copy_call, t->copy, 1), *e;

	op->start_ns = t->comm[r] > t->compute[r] && !t->runs_ahead ? t->comm[r] : t->compute[r];
	op->duration_ns = 2500;
	s->values[s->n_values++] = 4096;
	e = &s->events[s->n_events++];
	*e = (struct fmt_event){.template = t->sync, .start_ns = t->host[r] + 1000};
	e->duration_ns = t->runs_ahead ? 1000 : op->start_ns + 4000 - e->start_ns;
	t->host[r] = e->start_ns + e->duration_ns;
	if (t->runs_ahead)
		t->compute[r] = op->start_ns + op->duration_ns;
	else
		t->compute[r] = t->comm[r] = t->host[r];
	e = &s->ranges[s->n_ranges++];
	*e = (struct fmt_event){.template = t->mark,
				.start_ns = t->host[r] - 1,
				.first_value = (uint32_t)s->n_values};
	s->values[s->n_values++] = -5;
	s->values[s->n_values++] = made_string(&t->made, TRAINING_HOSTILE);
	s->values[s->n_values++] = made_string(&t->made, r % 2 ? "[[2,3],[]]" : "[2,");
	for (uint32_t i = 0; i < t->polls + (t->address != 0); i++)
		s->events[s->n_events++] =
			(struct fmt_event){.template = i < t->polls ? t->poll : t->total,
					   .start_ns = t->host[r] + i,
					   .first_value = (uint32_t)s->n_values};
	if (t->address)
		s->values[s->n_values++] = t->address;
	s->iteration.duration_ns = t->host[r] - s->iteration.start_ns;
	e = &s->ranges[s->n_ranges++];
	*e = (struct fmt_event){.template = t->step,
				.start_ns = s->iteration.start_ns,
				.duration_ns = s->iteration.duration_ns};
	t->host[r] += 20000;
}

static inline void training_iteration(struct training *t, uint32_t k)
{
	size_t n = (size_t)t->layers * (TRAINING_KERNELS + 1) * 2 + 8 + t->polls;

	for (uint32_t r = 0; r < t->ranks; r++) {
		struct fmt_slice *s = t->slices[r] = calloc(1, sizeof(*s));

		s->rank = r;
		s->index = k;
		s->iteration = (struct fmt_iteration){.number = k + 4, .start_ns = t->host[r]};
		s->events = calloc(n, sizeof(*s->events));
		s->ranges = calloc(4, sizeof(*s->ranges));
		s->values = calloc(n * 2, sizeof(*s->values));
	}
	for (uint32_t layer = 0; layer < t->layers; layer++)
		training_layer(t, layer);
	for (uint32_t r = 0; r < t->ranks; r++)
		training_end(t, r);
}

/* Writes the run to `path`; iterations are numbered from 4. */
static inline void training_write(struct training *t, const char *path)
{
	struct fmt_rank_writer **ranks = calloc(t->ranks, sizeof(struct fmt_rank_writer *));
	struct fmt_writer *w;
	struct fmt_error err = {.what = ""};

	ck_assert_msg(fmt_writer_open(path, t->made.names, 0, &w, &err) == 0, "%s", err.what);
	for (uint32_t r = 0; r < t->ranks; r++)
		ck_assert_int_eq(fmt_writer_rank(w, r, r, &ranks[r], &err), 0);
	for (uint32_t k = 0; k < t->iterations; k++) {
		training_iteration(t, k);
		for (uint32_t r = 0; r < t->ranks; r++) {
			t->slices[r]->first_number = fmt_rank_writer_next(ranks[r]);
			ck_assert_int_eq(fmt_slice_sort(t->slices[r], NULL), 0);
			ck_assert_msg(fmt_rank_writer_slice(ranks[r], t->slices[r], &err) == 0,
				      "%s", err.what);
			fmt_slice_free(t->slices[r]);
		}
	}
	ck_assert_msg(fmt_writer_close(w, &err) == 0, "%s", err.what);
	free(ranks);
}

/* Writes the run to directory/name, frees `t` and opens the trace. */
static inline struct fmt_trace *training_open(struct training *t, const char *directory,
					      const char *name)
{
	training_write(t, made_path(directory, name));
	training_done(t);
	return made_open(made_path(directory, name));
}
