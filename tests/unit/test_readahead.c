/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "fs/readahead.h"
#include "tests/unit/made.h"
#include "tests/unit/test.h"

#define FILE_A 7
#define FILE_B 8
#define KB 1024u
#define MB (1024u * KB)

/* Reads in sequence, and the offset up to which the workers read ahead (0: no read-ahead). */
static const struct {
	fs_ino ino;
	uint64_t offset;
	size_t size;
	uint64_t ahead;
} reads[] = {
	{FILE_A, 0, 128 * KB, 0},	       /* a single read is not sequential yet */
	{FILE_A, 128 * KB, 128 * KB, 1 * MB},  /* sequential */
	{FILE_A, 1280 * KB, 128 * KB, 2 * MB}, /* at the end of what was read ahead */
	{FILE_A, 3 * MB, 128 * KB, 4 * MB},    /* near the end */
	{FILE_A, 90 * MB, 4 * KB, 0},	       /* a jump */
	{FILE_A, 80 * MB, 4 * KB, 0},
	{FILE_A, 80 * MB + 4 * KB, 128 * KB, 1 * MB},
	/* continues where the previous reader of this file stopped */
	{FILE_B, 80 * MB + 132 * KB, 128 * KB, 0},
	{FILE_B, 80 * MB + 260 * KB, 128 * KB, 1 * MB},
	{FILE_A, 80 * MB + 132 * KB, 128 * KB, 0},
};

TEST(test_sequential_readers_are_followed)
{
	scoped(fs_readahead_done) struct fs_readahead a;

	fs_readahead_init(&a, NULL, NULL, NULL, NULL);
	a.max_workers = 2;
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		bool starts = fs_readahead_note(&a, reads[i].ino, reads[i].offset, reads[i].size);

		ck_assert_int_eq(starts, reads[i].ahead > 0);
		ck_assert_uint_eq(a.until - a.end, reads[i].ahead);
		ck_assert_uint_eq(a.end, reads[i].offset + reads[i].size);
		a.n_workers = 0;
	}
}

TEST(test_workers_are_as_many_as_processors)
{
	scoped(fs_readahead_done) struct fs_readahead a;

	fs_readahead_init(&a, NULL, NULL, NULL, NULL);
	a.max_workers = 2;
	fs_readahead_note(&a, FILE_A, 0, 10);
	ck_assert(fs_readahead_note(&a, FILE_A, 10, 10));
	ck_assert(fs_readahead_note(&a, FILE_A, 20, 10));
	ck_assert(!fs_readahead_note(&a, FILE_A, 30, 10));
	fs_readahead_close(&a);
	a.n_workers = 0;
	ck_assert(!fs_readahead_note(&a, FILE_A, 40, 10));
}

TEST(test_one_processor_has_no_workers)
{
	scoped(fs_readahead_done) struct fs_readahead a;

	fs_readahead_init(&a, NULL, NULL, NULL, NULL);
	a.max_workers = 0;
	ck_assert(!fs_readahead_note(&a, FILE_A, 0, 10));
	ck_assert(!fs_readahead_note(&a, FILE_A, 10, 10));
}

/* ---- storing */

#define WINDOW FS_READAHEAD_WINDOW

struct stored {
	struct fs *fs;
	uint64_t from, end;
};

static int store(void *context, fs_ino ino, uint64_t offset, const void *data, size_t size)
{
	scoped(fs_view_done) struct fs_view view = {0};
	scoped(free_ptr) char *joined = NULL;
	struct stored *s = context;
	size_t n;

	ck_assert_int_eq(fs_read(s->fs, ino, offset, size, &view), 0);
	joined = fs_view_join(&view, &n);
	ck_assert_uint_eq(n, size);
	ck_assert_mem_eq(joined, data, n);
	ck_assert(s->end == 0 || s->end == offset);
	s->from = s->end ? s->from : offset;
	s->end = offset + size;
	return 0;
}

/* Reads, and what is stored after them: the end of the file is UINT64_MAX. */
static const struct {
	uint64_t offset;
	size_t size;
	uint64_t from, end;
} surroundings[] = {
	{WINDOW + 8 * KB, 4 * KB, WINDOW, 2 * WINDOW},		      /* random: the whole window */
	{WINDOW + 128 * KB, 128 * KB, WINDOW + 256 * KB, 2 * WINDOW}, /* sequential: the rest */
	{2 * WINDOW - 128 * KB, 128 * KB, 0, 0},		      /* nothing is left */
	{2 * WINDOW - 64 * KB, 128 * KB, 2 * WINDOW, 3 * WINDOW},     /* the window of its end */
	{3 * WINDOW, 4 * KB, 3 * WINDOW, UINT64_MAX}, /* up to the end of the file */
};

TEST(test_the_window_of_a_read_is_stored)
{
	scoped(made_removep) char *folder = made_directory();
	scoped(fs_readahead_done) struct fs_readahead a;
	struct stored s = {0};
	struct fs_attr file;

	ck_assert_int_eq(fs_open(made_trace(made_path(folder, "run"), 2, 3, 2000),
				 &(struct fs_options){0}, &s.fs, NULL),
			 0);
	ck_assert_int_eq(fs_lookup(s.fs, 1, "timeline.json", &file), 0);
	ck_assert_uint_gt(file.size_bytes, 3 * WINDOW);
	ck_assert_uint_lt(file.size_bytes, 4 * WINDOW);
	fs_readahead_init(&a, s.fs, NULL, store, &s);
	for (size_t i = 0; i < ARRAY_SIZE(surroundings); i++) {
		uint64_t end = surroundings[i].end;

		s.from = s.end = 0;
		fs_readahead_after_read(&a, file.ino, surroundings[i].offset, surroundings[i].size);
		ck_assert_uint_eq(s.from, surroundings[i].from);
		ck_assert_uint_eq(s.end, end == UINT64_MAX ? file.size_bytes : end);
		ck_assert(!fs_readahead_is_storing(&a));
	}
	fs_close(s.fs);
}
