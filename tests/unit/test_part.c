/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/part.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

enum { SLICES = 6, RANKS = 2 };

/* The iterations of a rank's slices. */
static const struct {
	int64_t of[SLICES];
	int ordered;
} rows[] = {
	{{FMT_BEFORE, 1, 2, 2, 5, FMT_AFTER}, 1},
	{{0, 1, 2, 3, 4, 5}, 1},
	{{2, 2, 2, 2, 2, 2}, 1},
	{{3, 1, 3, 2, 1, FMT_AFTER}, 0},
	{{FMT_AFTER, 1, 2, 3, 4, FMT_BEFORE}, 0},
};

static struct fmt_trace *trace_of_iterations(struct made *m, const char *path,
					     const int64_t *iterations)
{
	struct fmt_writer *w;
	struct fmt_error err;

	ck_assert_int_eq(fmt_writer_open(path, m->names, 1, &w, &err), 0);
	for (uint32_t r = 0; r < RANKS; r++) {
		struct fmt_rank_writer *rank;

		ck_assert_int_eq(fmt_writer_rank(w, r, r, &rank, &err), 0);
		for (uint32_t k = 0; k < SLICES; k++) {
			scoped(fmt_slice_freep) struct fmt_slice *s =
				made_slice(m, r, k, 3, fmt_rank_writer_next(rank));

			s->iteration.number = iterations[k];
			ck_assert_int_eq(fmt_rank_writer_slice(rank, s, &err), 0);
		}
	}
	ck_assert_int_eq(fmt_writer_close(w, &err), 0);
	return made_open(path);
}

static void check_walk(const struct fmt_trace *t, const int64_t *iterations, int64_t wanted)
{
	const struct fmt_part part = {.iteration = wanted, .rank = FMT_ANY};
	struct fmt_walk w = fmt_walk(t, &part);

	for (uint32_t r = 0; r < RANKS; r++) {
		for (uint32_t k = 0; k < SLICES; k++) {
			if (wanted != FMT_ANY && iterations[k] != wanted)
				continue;
			ck_assert(fmt_walk_next(&w));
			ck_assert_uint_eq(w.rank, r);
			ck_assert_uint_eq(w.slice, k);
			ck_assert_uint_eq(w.done, r * SLICES + k + 1);
		}
	}
	ck_assert(!fmt_walk_next(&w));
}

TEST(test_a_walk_finds_the_slices_of_an_iteration)
{
	scoped(made_removep) char *folder = made_directory();
	char path[300];
	scoped(made_done) struct made m;

	made_init(&m, RANKS);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scoped(fmt_trace_closep) struct fmt_trace *t = NULL;

		snprintf(path, sizeof(path), "%s/%zu", folder, i);
		t = trace_of_iterations(&m, path, rows[i].of);
		ck_assert_int_eq(!fmt_trace_rank(t, 1)->by_iteration, rows[i].ordered);
		check_walk(t, rows[i].of, FMT_ANY);
		for (int64_t wanted = FMT_AFTER; wanted < 7; wanted++)
			check_walk(t, rows[i].of, wanted);
	}
}
