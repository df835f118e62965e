/* SPDX-License-Identifier: Apache-2.0 */

/* Runs that are tables with one row for each event, for tests of inference. A failure ends the
 * test. */
#pragma once

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/infer/infer.h"
#include "formats/run/peers.h"

#include <check.h>
#include <string.h>

/* One event; times in microseconds. */
struct row {
	enum fmt_kind kind;
	int track; /* threads from 1, streams from 7 */
	const char *name;
	int start, duration;
	int correlation;
	int rank;
	const char *peers; /* see formats/run/peers.h */
};

#define CALL FMT_CALL, 1
#define ON_7 FMT_KERNEL, 7
#define NCCL FMT_COLLECTIVE, 24
#define LAUNCH "cudaLaunchKernel"
#define ALL_REDUCE "ncclKernel_AllReduce_RING_LL_Sum_float"

struct made {
	struct fmt_names *names;
	struct fmt_run run;
	struct fmt_run_rank ranks[3];
	struct fmt_event events[3][48];
	int64_t values[3][96];
	const struct row *row_of[3][48];
};

static inline int by_track_and_start(const void *a, const void *b)
{
	const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;

	return array_order(x->track, y->track) ?: array_order(x->start, y->start)
	       ?: array_order(x->correlation, y->correlation);
}

static inline fmt_str string(struct fmt_names *n, const char *s)
{
	fmt_str ret = 0;

	ck_assert_int_eq(fmt_names_string(n, s, strlen(s), &ret), 0);
	return ret;
}

static inline uint32_t template_of(struct fmt_names *n, const struct row *r)
{
	struct fmt_arg args[FMT_COLLECTIVE_ARGS + 1] = {
		{string(n, FMT_KEY_COMM), FMT_INT, 1, 0},
		{string(n, FMT_KEY_SEQ), FMT_INT, 1, 0},
		{string(n, FMT_KEY_OP), FMT_STRING, 0, 0},
		{string(n, FMT_KEY_DTYPE), FMT_STRING, 0, 0},
		{string(n, FMT_KEY_BYTES), FMT_INT, 0, -1},
		{string(n, FMT_KEY_PEERS), FMT_JSON, 0, r->peers ? string(n, r->peers) : 0}};
	struct fmt_template template = {.kind = (uint8_t)r->kind, .name = string(n, r->name)};
	uint32_t ret = 0;

	if (r->kind == FMT_COLLECTIVE) {
		template.args = args;
		template.n_args = FMT_COLLECTIVE_ARGS + (r->peers != NULL);
	}
	ck_assert_int_eq(fmt_names_template(n, &template, &ret), 0);
	return ret;
}

static inline void make_rank(struct made *m, int rank, const struct row *rows, size_t n)
{
	struct fmt_run_rank *k = &m->ranks[rank];
	const struct row **row_of = m->row_of[rank];

	for (size_t i = 0; i < n; i++)
		if (rows[i].name && rows[i].rank == rank)
			row_of[k->n_events++] = &rows[i];
	qsort(row_of, k->n_events, sizeof(*row_of), by_track_and_start);
	k->events = m->events[rank];
	k->values = m->values[rank];
	k->number = (uint32_t)rank;
	for (size_t i = 0; i < k->n_events; i++) {
		const struct row *r = row_of[i];
		struct fmt_track track = {.kind = r->kind == FMT_CALL ? FMT_THREAD : FMT_STREAM,
					  .tid = r->track};
		struct fmt_event *e = &k->events[i];

		*e = (struct fmt_event){.start_ns = r->start * 1000LL,
					.duration_ns = r->duration * 1000LL,
					.correlation = (uint64_t)r->correlation,
					.template = template_of(m->names, r),
					.first_value = (uint32_t)k->n_values};
		k->n_values += r->kind == FMT_COLLECTIVE ? 2 : 0;
		ck_assert_int_eq(fmt_names_track(m->names, (uint32_t)rank, &track, &e->track), 0);
	}
}

/* `event_times`: see struct fmt_run_rank. */
static inline void make(struct made *m, const struct row *rows, size_t n, uint32_t n_ranks,
			int event_times)
{
	memset(m, 0, sizeof(*m));
	memset(m->values, 0xff, sizeof(m->values)); /* communicators are not known */
	ck_assert_int_eq(fmt_names_new(&m->names), 0);
	for (uint32_t i = 0; i < n_ranks; i++) {
		make_rank(m, (int)i, rows, n);
		m->ranks[i].event_times = event_times;
	}
	m->run = (struct fmt_run){.names = m->names, .ranks = m->ranks, .n_ranks = n_ranks};
	ck_assert_int_eq(fmt_infer(&m->run), 0);
}

static inline void unmake(struct made *m)
{
	for (uint32_t i = 0; i < m->run.n_ranks; i++) {
		free(m->ranks[i].edges);
		free(m->ranks[i].collectives);
	}
	fmt_names_free(m->names);
}

static inline const char *rule_of(const struct made *m, const struct fmt_run_edge *e)
{
	return fmt_string(m->names, fmt_rule(m->names, e->rule)->name, NULL);
}
