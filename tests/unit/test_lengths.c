/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/export/lengths.h"

#include "tests/unit/made.h"
#include "tests/unit/test.h"

/* What is stored of a slice: by us, by who knew no timelines, by who made other tables. */
enum { OURS, OLDER, OTHER, SLICES };

static void write_trace(struct made *m, const char *path, uint64_t tables[SLICES][FMT_TABLES])
{
	scoped(fmt_lengths_freep) struct fmt_lengths *lengths = NULL;
	scoped(fmt_tsv_freep) struct fmt_tsv *tsv = NULL;
	const struct fmt_writer_options options = {.level = 1};
	struct fmt_rank_writer *rank;
	struct fmt_writer *w;
	struct fmt_error err;

	ck_assert_int_eq(fmt_lengths_new(m->names, 1, &lengths), 0);
	ck_assert_int_eq(fmt_tsv_new(m->names, &tsv), 0);
	ck_assert_int_eq(fmt_writer_open(path, m->names, &options, &w, &err), 0);
	ck_assert_int_eq(fmt_writer_rank(w, 0, 0, &rank, &err), 0);
	for (uint32_t k = 0; k < SLICES; k++) {
		scoped(fmt_slice_freep) struct fmt_slice *s =
			made_slice(m, 0, k, 20, fmt_rank_writer_next(rank));
		uint32_t renderer = k == OLDER ? FMT_TSV_VERSION : FMT_TSV_VERSION + 1;

		ck_assert_int_eq(fmt_rank_writer_slice(rank, s, &err), 0);
		ck_assert_int_eq(fmt_tsv_lengths(tsv, s, tables[k]), 0);
		if (k == OURS)
			ck_assert_int_eq(fmt_lengths_write(lengths, s, rank), 0);
		else
			ck_assert_int_eq(fmt_writer_lengths(rank, renderer, tables[k], FMT_TABLES),
					 0);
	}
	ck_assert_int_eq(fmt_writer_close(w, &err), 0);
}

START_TEST(test_lengths_of_another_look_are_not_used)
{
	scoped(fmt_chrome_freep) struct fmt_chrome *alone = NULL, *merged = NULL;
	uint64_t tables[SLICES][FMT_TABLES], length;
	char *folder = made_directory(), path[300];
	struct fmt_slice *s;
	struct fmt_trace *t;
	struct made m;
	uint32_t look;

	snprintf(path, sizeof(path), "%s/t", folder);
	made_init(&m, 2);
	write_trace(&m, path, tables);
	ck_assert_int_eq(fmt_trace_open(path, &t, NULL), 0);
	ck_assert_int_eq(fmt_chrome_new(fmt_trace_names(t), 1, FMT_CHROME_MERGED, 0, &alone), 0);
	ck_assert_int_eq(fmt_chrome_new(fmt_trace_names(t), 2, FMT_CHROME_MERGED, 0, &merged), 0);
	look = fmt_chrome_look(alone, 0);
	ck_assert_uint_ne(look, fmt_chrome_look(merged, 0));

	for (int i = 0; i < FMT_TABLES; i++) {
		ck_assert_uint_eq(fmt_lengths_stored(t, 0, OURS, i, 0), tables[OURS][i] + 1);
		ck_assert_uint_eq(fmt_lengths_stored(t, 0, OLDER, i, 0), tables[OLDER][i] + 1);
		ck_assert_uint_eq(fmt_lengths_stored(t, 0, OTHER, i, 0), 0);
	}
	ck_assert_int_eq(fmt_slice_load(t, 0, OURS, FMT_WANT_ALL, &s, NULL), 0);
	ck_assert_int_eq(fmt_chrome_length(alone, s, &length), 0);
	ck_assert_uint_eq(fmt_lengths_stored(t, 0, OURS, FMT_LENGTH_TIMELINE, look), length + 1);
	ck_assert_uint_eq(fmt_lengths_stored(t, 0, OURS, FMT_LENGTH_TIMELINE, look + 1), 0);
	ck_assert_uint_eq(fmt_lengths_stored(t, 0, OLDER, FMT_LENGTH_TIMELINE, look), 0);
	ck_assert_uint_eq(fmt_lengths_stored(t, 0, SLICES, FMT_LENGTH_TIMELINE, look), 0);

	fmt_slice_free(s);
	fmt_trace_close(t);
	made_done(&m);
	made_remove(folder);
}
END_TEST

TESTS("lengths", test_lengths_of_another_look_are_not_used)
