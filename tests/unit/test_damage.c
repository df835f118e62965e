/* SPDX-License-Identifier: Apache-2.0 */

/* Damage: a wrong byte anywhere in a trace is detected, and no wrong value is read. At most one
 * slice is lost; or, if others are patches of it, slices of the same rank; or all that use the lost
 * names. */
#include "formats/trace/store/pack.h"
#include "formats/trace/store/verify.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

#include <sys/stat.h>

#define RANKS 2
#define SLICES 4
#define LAUNCHES 80

/* distance between the bytes that are flipped */
#define STEP 7

struct kept {
	char *dir;
	char trace[400];
	struct made m;
	struct fmt_slice *slices[RANKS * SLICES];
};

static void write_and_load(struct kept *k, int packed)
{
	char directory[450];
	struct fmt_error err;

	k->dir = made_directory();
	snprintf(directory, sizeof(directory), "%s/directory", k->dir);
	snprintf(k->trace, sizeof(k->trace), "%s/%s", k->dir, packed ? "packed" : "directory");
	made_init(&k->m, RANKS);
	made_write(&k->m, directory, RANKS, SLICES, LAUNCHES, 0);
	if (packed)
		ck_assert_msg(fmt_pack(directory, k->trace, 0, &err) == 0, "%s", err.what);
	made_slices(&k->m, RANKS, SLICES, LAUNCHES, k->slices);
}

static void drop(struct kept *k)
{
	for (uint32_t i = 0; i < RANKS * SLICES; i++)
		fmt_slice_free(k->slices[i]);
	made_done(&k->m);
	made_remove(k->dir);
}

#define ALL_OF_RANK ((1u << SLICES) - 1)

/* Returns a bit for each slice that cannot be read. Each slice that can be read must be correct. */
static uint32_t lost_slices(const struct kept *k, const char *file, long at)
{
	struct fmt_error err = {.what = ""};
	struct fmt_trace *t;
	uint32_t lost = 0;

	ck_assert_msg(fmt_trace_open(k->trace, &t, &err) == 0, "%s at %ld: %s", file, at, err.what);
	ck_assert_uint_eq(fmt_trace_n_ranks(t), RANKS);
	for (uint32_t r = 0; r < RANKS; r++) {
		for (uint32_t s = 0; s < SLICES; s++) {
			scoped(fmt_slice_freep) struct fmt_slice *got = NULL;

			if (fmt_slice_load(t, r, s, FMT_WANT_ALL, &got, &err) < 0) {
				lost |= 1u << (r * SLICES + s);
				continue;
			}
			ck_assert_msg(same_slice(k->slices[r * SLICES + s], got, k->m.names),
				      "%s at %ld: wrong data", file, at);
		}
	}
	fmt_trace_close(t);
	return lost;
}

/* The numbers of flips that lost one slice, slices of one rank, and slices of both. */
struct losses {
	int one, rank, all;
};

static void count_loss(struct losses *n, uint32_t lost)
{
	int one_rank = (lost & ALL_OF_RANK) == lost || (lost & ~ALL_OF_RANK) == lost;

	n->one += lost && (lost & (lost - 1)) == 0;
	n->rank += one_rank && (lost & (lost - 1)) != 0;
	n->all += !one_rank;
}

static struct losses flip_all(const struct kept *k, const char *path, int step)
{
	struct losses losses = {0};
	struct stat st;
	uint32_t turn = 0;

	ck_assert_int_eq(stat(path, &st), 0);
	for (long at = 0; at < st.st_size; at += step) {
		uint8_t with = (uint8_t)(1u << (turn++ & 7));
		struct fmt_verified v;
		struct fmt_error err;

		made_flip(path, at, with);
		count_loss(&losses, lost_slices(k, path, at));
		ck_assert_int_eq(fmt_verify(k->trace, NULL, NULL, &v, &err), 0);
		ck_assert_msg(v.problems > 0, "%s at %ld: not found", path, at);
		made_flip(path, at, with);
	}
	return losses;
}

TEST(test_every_flip_in_a_directory_is_found)
{
	static const char *const files[] = {"trace.chunks", "rank-00000.chunks",
					    "rank-00001.chunks"};
	scoped(drop) struct kept k;
	char path[500];

	write_and_load(&k, 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct losses losses;

		snprintf(path, sizeof(path), "%s/%s", k.trace, files[i]);
		losses = flip_all(&k, path, STEP);
		if (i == 0) {
			ck_assert_int_eq(losses.one + losses.rank, 0);
			ck_assert_int_gt(losses.all, 0);
		} else {
			ck_assert_int_gt(losses.one, 0);
			ck_assert_int_gt(losses.rank, 0);
			ck_assert_int_eq(losses.all, 0);
		}
	}
}

TEST(test_every_flip_in_a_packed_file_is_found)
{
	scoped(drop) struct kept k;

	write_and_load(&k, 1);
	ck_assert_int_gt(flip_all(&k, k.trace, STEP).one, 0);
}

TEST(test_undamaged_traces_verify)
{
	struct fmt_verified v;
	struct fmt_error err;

	for (int packed = 0; packed < 2; packed++) {
		scoped(drop) struct kept k;

		write_and_load(&k, packed);
		ck_assert_int_eq(fmt_verify(k.trace, NULL, NULL, &v, &err), 0);
		ck_assert_uint_eq(v.problems, 0);
		ck_assert_uint_eq(v.slices, RANKS * SLICES);
		ck_assert_uint_eq(lost_slices(&k, k.trace, 0), 0);
	}
}

static int count_gpu_1(void *context, const struct fmt_problem *p)
{
	int *n = context;

	*n += p->rank == 1 && p->iteration == 3 && p->type && strcmp(p->type, "slice") == 0;
	return 0;
}

TEST(test_problems_have_an_offset)
{
	scoped(drop) struct kept k;
	char path[500];
	struct stat st;
	int n = 0;
	struct fmt_verified v;
	struct fmt_error err;

	write_and_load(&k, 0);
	snprintf(path, sizeof(path), "%s/rank-00001.chunks", k.trace);
	ck_assert_int_eq(stat(path, &st), 0);
	for (long at = 0; at < st.st_size && n == 0; at += 50) {
		made_flip(path, at, 1);
		ck_assert_int_eq(fmt_verify(k.trace, count_gpu_1, &n, &v, &err), 0);
		made_flip(path, at, 1);
	}
	ck_assert_int_gt(n, 0);
}
