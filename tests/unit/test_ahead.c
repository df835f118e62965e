/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ahead.h"
#include "tests/unit/test.h"

#define FILE_A 7
#define FILE_B 8

/* Reads one after another, of 10 bytes, and what is then to be made. */
static const struct {
	fs_ino ino;
	uint64_t offset;
	size_t n;
	uint64_t from; /* if n is not 0 */
} reads[] = {
	{FILE_A, 0, 0, 0},			   /* it may be all that is read */
	{FILE_A, 10, 3, 20},			   /* it goes on: three ahead */
	{FILE_A, 20, 1, 50},			   /* one more each time */
	{FILE_A, 30, 1, 60},   {FILE_A, 90, 0, 0}, /* a jump */
	{FILE_A, 90, 0, 0},    {FILE_A, 100, 3, 110},
	{FILE_B, 110, 0, 0}, /* where another file was left */
	{FILE_B, 120, 3, 130}, {FILE_A, 110, 0, 0},
};

START_TEST(who_reads_on_is_followed)
{
	struct fs_ahead a = {.lock = PTHREAD_MUTEX_INITIALIZER, .windows = 3};

	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		uint64_t from = 0;
		size_t n = fs_ahead_note(&a, reads[i].ino, reads[i].offset, 10, &from);

		ck_assert_uint_eq(n, reads[i].n);
		if (n > 0)
			ck_assert_uint_eq(from, reads[i].from);
	}
}
END_TEST

START_TEST(nothing_is_made_on_one_processor)
{
	struct fs_ahead a = {.lock = PTHREAD_MUTEX_INITIALIZER};
	uint64_t from;

	ck_assert_uint_eq(fs_ahead_note(&a, FILE_A, 0, 10, &from), 0);
	ck_assert_uint_eq(fs_ahead_note(&a, FILE_A, 10, 10, &from), 0);
}
END_TEST

TESTS("ahead", who_reads_on_is_followed, nothing_is_made_on_one_processor)
