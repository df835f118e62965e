/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/loader.h"
#include "tests/unit/made.h"
#include "tests/unit/test.h"

#include <sys/stat.h>

/* Writes and opens a trace of 3 GPUs, large enough for several threads. */
static struct fmt_trace *open_made(const char *folder)
{
	const char *path = made_path(folder, "run");

	return access(path, F_OK) < 0 ? made_trace(path, 3, 20, 1000) : made_open(path);
}

/* Loads a part and compares each slice with the same slice loaded alone. */
static uint32_t check_part(struct fmt_trace *t, const struct fmt_part *part)
{
	scoped(fmt_loader_freep) struct fmt_loader *l = NULL;
	struct fmt_walk want = fmt_walk(t, part), w;
	struct fmt_slice *slice, *alone;
	uint32_t n = 0;
	int r;

	ck_assert_int_eq(fmt_loader_new(t, part, FMT_WANT_ALL, &l), 0);
	for (; fmt_loader_next(l, &w, &slice, &r, NULL); n++) {
		ck_assert_int_eq(r, 0);
		ck_assert(fmt_walk_next(&want));
		ck_assert_uint_eq(w.rank, want.rank);
		ck_assert_uint_eq(w.slice, want.slice);
		ck_assert_uint_eq(slice->rank, w.rank);
		ck_assert_uint_eq(slice->index, w.slice);
		ck_assert_int_eq(fmt_slice_load(t, w.rank, w.slice, FMT_WANT_ALL, &alone, NULL), 0);
		ck_assert_uint_eq(slice->n_events, alone->n_events);
		ck_assert_mem_eq(slice->events, alone->events,
				 alone->n_events * sizeof(*alone->events));
		fmt_slice_free(alone);
		fmt_slice_free(slice);
	}
	ck_assert(!fmt_walk_next(&want));
	return n;
}

TEST(test_slices_arrive_in_order)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *t = open_made(folder);

	ck_assert_uint_eq(check_part(t, &FMT_WHOLE), 60);
	ck_assert_uint_eq(check_part(t, &(struct fmt_part){.iteration = FMT_ANY, .rank = 1}), 20);
	ck_assert_uint_eq(check_part(t, &(struct fmt_part){.iteration = 7, .rank = FMT_ANY}), 3);
	ck_assert_uint_eq(check_part(t, &(struct fmt_part){.iteration = 99, .rank = FMT_ANY}), 0);
}

/* The caller may stop at any slice; slices decoded ahead are freed. */
TEST(test_the_caller_may_stop_early)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *t = open_made(folder);

	for (int n = 0; n < 12; n++) {
		scoped(fmt_loader_freep) struct fmt_loader *l = NULL;
		struct fmt_slice *slice;
		struct fmt_walk w;
		int r;

		ck_assert_int_eq(fmt_loader_new(t, &FMT_WHOLE, FMT_WANT_OPS, &l), 0);
		for (int i = 0; i < n; i++) {
			ck_assert(fmt_loader_next(l, &w, &slice, &r, NULL));
			fmt_slice_free(slice);
		}
	}
}

/* Inverts a byte in the middle of the file of GPU 1. */
static void damage(const char *folder)
{
	const char *path = made_path(folder, "run/rank-00001.chunks");
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	made_flip(path, st.st_size / 2, 0xff);
}

TEST(test_damage_is_reported_with_its_slice)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fmt_loader_freep) struct fmt_loader *l = NULL;
	struct fmt_error err = {0}, check = {0};
	struct fmt_slice *slice;
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	struct fmt_walk w;
	int r, bad = 0;

	fmt_trace_close(open_made(folder));
	damage(folder);
	t = open_made(folder);
	ck_assert_int_eq(fmt_loader_new(t, &FMT_WHOLE, FMT_WANT_ALL, &l), 0);
	while (fmt_loader_next(l, &w, &slice, &r, &err)) {
		/* fmt_slice_check() reports the same error. */
		ck_assert_int_eq(fmt_slice_check(t, w.rank, w.slice, &check), r);
		if (r == 0) {
			fmt_slice_free(slice);
			continue;
		}
		ck_assert_int_eq(r, -EBADMSG);
		ck_assert_uint_eq(w.rank, 1);
		ck_assert_str_eq(check.what, err.what);
		ck_assert_uint_eq(check.offset, err.offset);
		ck_assert_int_eq(fmt_trace_slice(t, w.rank, w.slice)->damaged, 1);
		bad++;
	}
	ck_assert_int_eq(bad, 1);
	fmt_loader_free(take(l));
}
