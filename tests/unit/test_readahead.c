/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "fs/readahead.h"
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
