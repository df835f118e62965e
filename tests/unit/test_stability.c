/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/report/stability.h"

#include "tests/unit/test.h"

enum { KERNELS = 4, ITERATIONS = 5, NUMBERS = KERNELS + 1 };

/* Iterations of a rank: kernels of one name on stream 0, and a call on thread 1 that waits for one
 * of them. */
struct scene {
	struct fmt_names *names;
	uint32_t kernel, other, call;
	uint32_t first; /* of an iteration's kernels */
	uint8_t sync, capacity;
	struct stability *s;
};

static uint32_t template_of(struct scene *m, uint8_t kind, const char *name)
{
	struct fmt_template t = {.kind = kind};
	uint32_t number = 0;

	ck_assert_int_eq(fmt_names_string(m->names, name, strlen(name), &t.name), 0);
	ck_assert_int_eq(fmt_names_template(m->names, &t, &number), 0);
	return number;
}

static void setup(struct scene *m, uint32_t n_ranks)
{
	ck_assert_int_eq(fmt_names_new(&m->names), 0);
	m->kernel = template_of(m, FMT_KERNEL, "gemm");
	m->other = template_of(m, FMT_KERNEL, "relu");
	m->first = m->kernel;
	m->call = template_of(m, FMT_CALL, "cudaEventSynchronize");
	ck_assert_int_eq(fmt_names_rule(m->names, "sync-event", 1, &m->sync), 0);
	ck_assert_int_eq(fmt_names_rule(m->names, "capacity", 1, &m->capacity), 0);
	ck_assert_int_eq(stability_new(m->names, n_ranks, &m->s), 0);
}

static void teardown(struct scene *m)
{
	stability_free(m->s);
	fmt_names_free(m->names);
}

/* Adds an iteration whose call waits for kernel `partner`: from 0; negative: a kernel of the
 * previous iteration, counted from its end; KERNELS: no wait. */
static void add_iteration(struct scene *m, uint32_t rank, uint32_t iteration, int partner,
			  uint8_t rule)
{
	struct fmt_event events[NUMBERS] = {0};
	fmt_number first = (fmt_number)iteration * NUMBERS;
	fmt_number from = first + (fmt_number)(partner < 0 ? partner - 1 : partner);
	struct fmt_edge edge = {
		.from = from, .to = first + KERNELS, .kind = FMT_EDGE_RETURN, .rule = rule};
	struct fmt_slice slice = {.rank = rank,
				  .index = iteration,
				  .iteration = {.number = iteration},
				  .first_number = first,
				  .events = events,
				  .n_events = NUMBERS,
				  .edges = &edge,
				  .n_edges = partner == KERNELS ? 0 : 1};

	for (uint32_t i = 0; i < NUMBERS; i++)
		events[i] = (struct fmt_event){.template = i < KERNELS ? m->kernel : m->call,
					       .track = i < KERNELS ? 0 : 1};
	events[0].template = m->first;
	ck_assert_int_eq(stability_slice(m->s, rank, &slice, 1), 0);
}

/* The partner in each iteration (KERNELS: none), and the expected report. */
static const struct {
	int partners[ITERATIONS];
	uint64_t sites, stable, partial;
	uint32_t n_partners, usual; /* of the site that changes its partner */
	uint32_t nth, back;	    /* position of its usual partner */
} rows[] = {
	{{2, 2, 2, 2, 2}, 1, 1, 0, 0, 0, 0, 0},
	{{-1, -1, -1, -1, -1}, 1, 0, 0, 2, 4, 1, 1}, /* the first partner is outside the trace */
	{{KERNELS, -1, -1, -1, -1}, 1, 1, 0, 0, 0, 0, 0},
	{{2, 1, 2, 2, 2}, 1, 0, 0, 2, 4, 3, 0},
	{{0, 1, 2, 3, 3}, 1, 0, 0, 4, 2, 4, 0},
	{{2, KERNELS, 2, KERNELS, 2}, 1, 0, 1, 0, 0, 0, 0},
	{{KERNELS, KERNELS, KERNELS, KERNELS, KERNELS}, 0, 0, 0, 0, 0, 0, 0},
};

TEST_ROWS(test_partners, rows)
{
	scoped(teardown) struct scene m;
	struct stability_report r;
	const uint32_t numbers[] = {8, 9};

	setup(&m, 2);
	for (uint32_t rank = 0; rank < 2; rank++)
		for (uint32_t k = 0; k < ITERATIONS; k++)
			add_iteration(&m, rank, k, row->partners[k], m.sync);
	ck_assert_int_eq(stability_finish(m.s, numbers, &r), 0);
	ck_assert_uint_eq(r.sites, 2 * row->sites);
	ck_assert_uint_eq(r.stable, 2 * row->stable);
	ck_assert_uint_eq(r.partial, 2 * row->partial);
	ck_assert_uint_eq(r.n_worst, row->n_partners > 0);
	if (r.n_worst == 0)
		return;
	ck_assert_uint_eq(r.worst[0].gpu, 8);
	ck_assert_uint_eq(r.worst[0].gpus, 2);
	ck_assert_uint_eq(r.worst[0].position.nth, 1);
	ck_assert_uint_eq(r.worst[0].seen, ITERATIONS);
	ck_assert_uint_eq(r.worst[0].partners, row->n_partners);
	ck_assert_uint_eq(r.worst[0].usual, row->usual);
	ck_assert_uint_eq(r.worst[0].partner.nth, row->nth);
	ck_assert_uint_eq(r.worst[0].back, row->back);
}

TEST(test_rules_that_depend_on_times_do_not_count)
{
	scoped(teardown) struct scene m;
	const uint32_t number = 0;
	struct stability_report r;

	setup(&m, 1);
	for (uint32_t k = 0; k < ITERATIONS; k++)
		add_iteration(&m, 0, k, (int)k % KERNELS, m.capacity);
	ck_assert_int_eq(stability_finish(m.s, &number, &r), 0);
	ck_assert_uint_eq(r.sites, 0);
	ck_assert_uint_eq(r.n_worst, 0);
}

TEST(test_one_iteration_proves_nothing)
{
	scoped(teardown) struct scene m;
	const uint32_t number = 0;
	struct stability_report r;

	setup(&m, 1);
	add_iteration(&m, 0, 0, 1, m.sync);
	ck_assert_int_eq(stability_finish(m.s, &number, &r), 0);
	ck_assert_uint_eq(r.sites, 0);
}

TEST(test_iterations_of_other_operations_are_not_compared)
{
	scoped(teardown) struct scene m;
	const uint32_t number = 0;
	struct stability_report r;

	setup(&m, 1);
	for (uint32_t k = 0; k < 2 * ITERATIONS; k++) {
		m.first = k % 2 ? m.other : m.kernel;
		add_iteration(&m, 0, k, 1 + (int)k % 2, m.sync);
	}
	ck_assert_int_eq(stability_finish(m.s, &number, &r), 0);
	ck_assert_uint_eq(r.sites, 2);
	ck_assert_uint_eq(r.stable, 2);
}
