/* SPDX-License-Identifier: Apache-2.0 */

/* A small deterministic run for tests of the store. Not thread-safe; a failure ends the test. */
#pragma once

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/trace.h"
#include "formats/trace/store/writer.h"
#include "tests/unit/folder.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

struct made {
	struct fmt_names *names;
	uint32_t launch, wait, kernel, collective, range, mark;
	uint64_t seed;
};

static inline uint64_t made_random(struct made *m, uint64_t below)
{
	m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
	return (m->seed >> 33) % below;
}

static inline fmt_str made_string(struct made *m, const char *s)
{
	fmt_str n = 0;

	ck_assert_int_eq(fmt_names_string(m->names, s, strlen(s), &n), 0);
	return n;
}

static inline uint32_t made_template(struct made *m, uint8_t kind, const char *name,
				     const struct fmt_arg *args, uint32_t n_args)
{
	struct fmt_template s = {
		.kind = kind, .name = made_string(m, name), .args = args, .n_args = n_args};
	uint32_t n = 0;

	s.category = made_string(m, fmt_kind_name(kind));
	ck_assert_int_eq(fmt_names_template(m->names, &s, &n), 0);
	return n;
}

static inline void made_names(struct made *m, uint32_t n_ranks)
{
	const struct fmt_arg comm[] = {
		{.key = made_string(m, FMT_KEY_COMM), .type = FMT_INT, .varies = 1},
		{.key = made_string(m, FMT_KEY_SEQ), .type = FMT_INT, .varies = 1},
		{.key = made_string(m, FMT_KEY_OP),
		 .type = FMT_STRING,
		 .value = made_string(m, "all_reduce")},
		{.key = made_string(m, FMT_KEY_DTYPE), .type = FMT_STRING},
		{.key = made_string(m, FMT_KEY_BYTES), .type = FMT_INT, .value = -1},
		{.key = made_string(m, "correlation"), .type = FMT_CORRELATION},
	};
	const struct fmt_arg range[] = {
		{.key = made_string(m, "External id"), .type = FMT_INT, .varies = 1},
		{.key = made_string(m, "Input"), .type = FMT_JSON, .varies = 1},
	};
	static const uint32_t ranks[] = {0, 1, 2, 3};
	struct fmt_comm world = {.n_ranks = n_ranks < 4 ? n_ranks : 4, .ranks = ranks};
	uint32_t number;
	uint8_t rule;

	m->launch = made_template(m, FMT_CALL, "cudaLaunchKernel", NULL, 0);
	m->wait = made_template(m, FMT_CALL, "cudaStreamSynchronize", NULL, 0);
	m->kernel = made_template(m, FMT_KERNEL, "void gemm<128>(float*)", NULL, 0);
	m->collective =
		made_template(m, FMT_COLLECTIVE, "ncclDevKernel_AllReduce", comm, ARRAY_SIZE(comm));
	m->range = made_template(m, FMT_RANGE, "aten::mm", range, 2);
	m->mark = made_template(m, FMT_MARK, "mark", NULL, 0);
	world.name = made_string(m, "world");
	ck_assert_int_eq(fmt_names_comm(m->names, &world, &number), 0);
	ck_assert_int_eq(fmt_names_rule(m->names, "event-wait", 1, &rule), 0);
	for (uint32_t i = 0; i < n_ranks; i++) {
		struct fmt_track thread = {.kind = FMT_THREAD, .pid = 100 + i, .tid = 7};
		struct fmt_track stream = {.kind = FMT_STREAM, .pid = i, .tid = 20};
		struct fmt_device d = {.ordinal = i, .name = made_string(m, "H100")};

		ck_assert_int_eq(fmt_names_track(m->names, i, &thread, &number), 0);
		ck_assert_int_eq(fmt_names_track(m->names, i, &stream, &number), 0);
		ck_assert_int_eq(fmt_names_device(m->names, i, &d), 0);
		ck_assert_int_eq(
			fmt_names_fact(m->names, i, "rank", made_string(m, i ? "\"other\"" : "0")),
			0);
	}
	ck_assert_int_eq(fmt_names_fact(m->names, FMT_WHOLE_TRACE, "made", made_string(m, "true")),
			 0);
}

static inline void made_init(struct made *m, uint32_t n_ranks)
{
	memset(m, 0, sizeof(*m));
	m->seed = 1;
	ck_assert_int_eq(fmt_names_new(&m->names), 0);
	made_names(m, n_ranks);
}

static inline void made_done(struct made *m)
{
	fmt_names_free(m->names);
}

/* Returns slice `k` of rank `rank`: one iteration of `n` launches with their kernels. */
static inline struct fmt_slice *made_slice(struct made *m, uint32_t rank, uint32_t k, uint32_t n,
					   fmt_number first)
{
	struct fmt_slice *s = calloc(1, sizeof(*s));
	int64_t at = 1700000000000000000 + (int64_t)k * 50000000, device = at;
	char text[32];

	m->seed = rank * 1000 + k + 1;
	s->rank = rank;
	s->index = k;
	s->first_number = first;
	s->iteration = (struct fmt_iteration){
		.number = k, .start_ns = at, .duration_ns = (int64_t)n * 10000};
	s->events = calloc(2 * (size_t)n, sizeof(*s->events));
	s->ranges = calloc(2 * (size_t)n, sizeof(*s->ranges));
	s->values = calloc(4 * (size_t)n, sizeof(*s->values));
	s->edges = calloc(n, sizeof(*s->edges));
	for (uint32_t i = 0; i < n; i++) {
		struct fmt_event *call = &s->events[s->n_events++], *op = &s->events[s->n_events++];
		struct fmt_event *range = &s->ranges[s->n_ranges++];
		int coll = i % 8 == 7;

		at += 1000 + (int64_t)made_random(m, 4000);
		*range = (struct fmt_event){
			.template = m->range, .start_ns = at, .duration_ns = 5500};
		range->first_value = (uint32_t)s->n_values;
		snprintf(text, sizeof(text), "[%u]", i % 3);
		s->values[s->n_values++] = i + 10;
		s->values[s->n_values++] = made_string(m, text);
		*call = (struct fmt_event){.template = i % 16 == 15 ? m->wait : m->launch,
					   .start_ns = at + 300,
					   .duration_ns = 4000 + (int64_t)made_random(m, 500)};
		call->correlation = first + i + 1;
		device = device > at + 5000 ? device : at + 5000;
		*op = (struct fmt_event){.template = coll ? m->collective : m->kernel,
					 .track = 1,
					 .start_ns = device,
					 .duration_ns = 3000 + (int64_t)made_random(m, 3000)};
		op->correlation = call->correlation;
		op->first_value = (uint32_t)s->n_values;
		if (coll) {
			s->values[s->n_values++] = 0;
			s->values[s->n_values++] = (int64_t)(first / 16 + i / 8);
		}
		device += op->duration_ns + 800;
		if (i % 4 == 0)
			s->ranges[s->n_ranges++] =
				(struct fmt_event){.template = m->mark, .start_ns = at + 100};
		at += 6000;
	}
	for (uint32_t i = 1; i < n; i += 5)
		s->edges[s->n_edges++] = (struct fmt_edge){.from = first + i - 1,
							   .to = first + n + i,
							   .lag_ns = i % 2 ? 0 : 1500,
							   .kind = FMT_EDGE_START,
							   .rank = i % 15 == 1 ? 1 : 0};
	ck_assert_int_eq(fmt_slice_sort(s, NULL), 0);
	return s;
}

/* Makes the slices that made_write() writes: slice k of rank r is slices[r * n_slices + k]. */
static inline void made_slices(struct made *m, uint32_t n_ranks, uint32_t n_slices, uint32_t n,
			       struct fmt_slice **slices)
{
	for (uint32_t r = 0; r < n_ranks; r++) {
		fmt_number first = 0;

		for (uint32_t k = 0; k < n_slices; k++) {
			*slices = made_slice(m, r, k, n, first);
			first += (*slices++)->n_events;
		}
	}
}

/* Writes a trace of `n_ranks` ranks with `n_slices` slices of `n` launches each to `path`, but does
 * not close the writer. */
static inline struct fmt_writer *made_begin(struct made *m, const char *path, uint32_t n_ranks,
					    uint32_t n_slices, uint32_t n, int level)
{
	struct fmt_writer *w;
	struct fmt_error err;

	ck_assert_msg(fmt_writer_open(path, m->names, level, &w, &err) == 0, "%s", err.what);
	for (uint32_t r = 0; r < n_ranks; r++) {
		struct fmt_rank_writer *rank;

		ck_assert_int_eq(fmt_writer_rank(w, r, r, &rank, &err), 0);
		for (uint32_t k = 0; k < n_slices; k++) {
			struct fmt_slice *s = made_slice(m, r, k, n, fmt_rank_writer_next(rank));

			ck_assert_msg(fmt_rank_writer_slice(rank, s, &err) == 0, "%s", err.what);
			fmt_slice_free(s);
		}
	}
	return w;
}

static inline void made_write(struct made *m, const char *path, uint32_t n_ranks, uint32_t n_slices,
			      uint32_t n, int level)
{
	struct fmt_writer *w = made_begin(m, path, n_ranks, n_slices, n, level);
	struct fmt_error err;

	ck_assert_msg(fmt_writer_close(w, &err) == 0, "%s", err.what);
}

/* Opens a trace, which must be valid; the caller closes it. */
static inline struct fmt_trace *made_open(const char *path)
{
	struct fmt_error err = {.what = ""};
	struct fmt_trace *t;

	ck_assert_msg(fmt_trace_open(path, &t, &err) == 0, "%s: %s", err.file, err.what);
	return t;
}

/* Writes and opens a trace as made_write() does, */
static inline struct fmt_trace *made_trace(const char *path, uint32_t n_ranks, uint32_t n_slices,
					   uint32_t n)
{
	struct made m;

	made_init(&m, n_ranks);
	made_write(&m, path, n_ranks, n_slices, n, 1);
	made_done(&m);
	return made_open(path);
}

static inline int same_events(const struct fmt_event *a, const struct fmt_slice *sa,
			      const struct fmt_event *b, const struct fmt_slice *sb, size_t n,
			      const struct fmt_names *names)
{
	for (size_t i = 0; i < n; i++) {
		const struct fmt_template *template = fmt_template(names, a[i].template);

		if (a[i].start_ns != b[i].start_ns || a[i].duration_ns != b[i].duration_ns ||
		    a[i].correlation != b[i].correlation || a[i].template != b[i].template ||
		    a[i].track != b[i].track || !template)
			return 0;
		for (uint32_t k = 0; k < template->n_values; k++)
			if (sa->values[a[i].first_value + k] != sb->values[b[i].first_value + k])
				return 0;
	}
	return 1;
}

static inline int same_edges(const struct fmt_edge *a, const struct fmt_edge *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].from != b[i].from || a[i].to != b[i].to || a[i].lag_ns != b[i].lag_ns ||
		    a[i].kind != b[i].kind || a[i].rule != b[i].rule || a[i].rank != b[i].rank)
			return 0;
	return 1;
}

/* Returns nonzero if two slices are equal, including the numbers of their names. */
static inline int same_slice(const struct fmt_slice *a, const struct fmt_slice *b,
			     const struct fmt_names *names)
{
	return a->n_events == b->n_events && a->n_ranges == b->n_ranges &&
	       a->n_edges == b->n_edges && a->first_number == b->first_number &&
	       a->iteration.number == b->iteration.number &&
	       a->iteration.start_ns == b->iteration.start_ns &&
	       a->iteration.duration_ns == b->iteration.duration_ns &&
	       same_events(a->events, a, b->events, b, a->n_events, names) &&
	       same_events(a->ranges, a, b->ranges, b, a->n_ranges, names) &&
	       same_edges(a->edges, b->edges, a->n_edges);
}
