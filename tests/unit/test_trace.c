/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/trace.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

#include <sys/stat.h>

#define RANKS 3
#define SLICES 4
#define LAUNCHES 200

static void check_trace(struct made *m, const char *path)
{
	scoped(fmt_trace_closep) struct fmt_trace *t = made_open(path);
	struct fmt_error err = {.what = ""};

	ck_assert_uint_eq(fmt_trace_n_ranks(t), RANKS);
	ck_assert_uint_eq(strlen(fmt_trace_id(t)), 64);
	ck_assert_uint_eq(fmt_n_strings(fmt_trace_names(t)), fmt_n_strings(m->names));
	for (uint32_t r = 0; r < RANKS; r++) {
		const struct fmt_rank *rank = fmt_trace_rank(t, r);
		fmt_number first = 0;

		ck_assert_uint_eq(rank->n_slices, SLICES);
		ck_assert_uint_eq(rank->n_records[FMT_CALL], SLICES * LAUNCHES);
		ck_assert_uint_eq(fmt_n_tracks(fmt_trace_names(t), r), 2);
		for (uint32_t k = 0; k < SLICES; k++) {
			scoped(fmt_slice_freep) struct fmt_slice *got = NULL;
			scoped(fmt_slice_freep) struct fmt_slice *want =
				made_slice(m, r, k, LAUNCHES, first);

			ck_assert_msg(fmt_slice_load(t, r, k, FMT_WANT_ALL, &got, &err) == 0, "%s",
				      err.what);
			ck_assert(same_slice(want, got, m->names));
			first += got->n_events;
		}
	}
	ck_assert_str_eq(fmt_fact_value(fmt_trace_names(t), 1, "rank"), "\"other\"");
}

TEST(test_round_trip)
{
	scoped(made_removep) char *dir = made_directory();
	scoped(made_done) struct made m;

	made_init(&m, RANKS);
	made_write(&m, made_path(dir, "t"), RANKS, SLICES, LAUNCHES, 0);
	check_trace(&m, made_path(dir, "t"));
}

TEST(test_a_truncated_file_keeps_complete_slices)
{
	scoped(made_removep) char *dir = made_directory();
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	struct fmt_error err;
	scoped(made_done) struct made m;
	struct stat st;

	made_init(&m, 1);
	made_write(&m, made_path(dir, "t"), 1, SLICES, LAUNCHES, 0);
	ck_assert_int_eq(stat(made_path(dir, "t/rank-00000.chunks"), &st), 0);
	ck_assert_int_eq(truncate(made_path(dir, "t/rank-00000.chunks"), st.st_size / 2), 0);
	t = made_open(made_path(dir, "t"));
	ck_assert_int_eq(fmt_trace_check_complete(t, &err), -EBADMSG);
	ck_assert_msg(strstr(err.what, "truncated") != NULL, "%s", err.what);
	ck_assert_uint_gt(fmt_trace_rank(t, 0)->n_slices, 0);
	ck_assert_uint_lt(fmt_trace_rank(t, 0)->n_slices, SLICES);
	for (uint32_t k = 0; k < fmt_trace_rank(t, 0)->n_slices; k++) {
		scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

		ck_assert_int_eq(fmt_slice_load(t, 0, k, FMT_WANT_ALL, &s, &err), 0);
	}
}

/* Returns how many bytes this process has read so far, by any read(2). */
static uint64_t bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	unsigned long long n = 0;

	if (!f || fscanf(f, "rchar: %llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

TEST(test_a_slice_reads_itself_and_at_most_one_more)
{
	scoped(made_removep) char *dir = made_directory();
	const uint32_t slices = 64;
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	struct fmt_error err;
	scoped(made_done) struct made m;
	uint64_t before, cost, own;

	made_init(&m, 1);
	made_write(&m, made_path(dir, "t"), 1, slices, LAUNCHES, 0);
	t = made_open(made_path(dir, "t"));
	own = fmt_trace_rank(t, 0)->bytes / slices;
	before = bytes_read();
	cost = bytes_read() - before; /* cost of bytes_read() itself */
	for (uint32_t k = slices / 2; k < slices; k += 7) {
		scoped(fmt_slice_freep) struct fmt_slice *s = NULL;

		before = bytes_read();
		ck_assert_int_eq(fmt_slice_load(t, 0, k, FMT_WANT_ALL, &s, &err), 0);
		/* The first load also reads the reference slice, which is larger. */
		ck_assert_uint_lt(bytes_read() - before - cost, own * (k == slices / 2 ? 5 : 2));
	}
}

TEST(test_invalid_traces_are_refused)
{
	scoped(made_removep) char *dir = made_directory();
	struct fmt_trace *t;
	struct fmt_error err;

	ck_assert_int_eq(fmt_trace_open(dir, &t, &err), -EBADMSG);
	ck_assert_int_eq(fmt_trace_open(made_path(dir, "none"), &t, &err), -ENOENT);
	ck_assert_int_eq(fmt_trace_open("/dev/null", &t, &err), -EBADMSG);
}
