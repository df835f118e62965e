/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/pages.h"
#include "tests/unit/test.h"

static struct fs_pages edges;
static char file[2 * FS_PAGE], page[FS_PAGE];

static void setup(void)
{
	fs_pages_init(&edges);
	for (size_t i = 0; i < sizeof(file); i++)
		file[i] = (char)(i * 7);
}

/* Adds bytes [from, end) of the file. Returns true if a page is complete. */
static bool add_bytes(fs_ino ino, size_t from, size_t end)
{
	return fs_pages_add(&edges, ino, from, file + from, end - from, page);
}

TEST(test_two_parts_complete_a_page_in_any_order)
{
	setup();
	ck_assert(!add_bytes(1, FS_PAGE, FS_PAGE + 100));
	ck_assert(add_bytes(1, FS_PAGE + 100, 2 * FS_PAGE));
	ck_assert_mem_eq(page, file + FS_PAGE, FS_PAGE);
	ck_assert(!add_bytes(1, FS_PAGE + 4000, 2 * FS_PAGE));
	ck_assert(add_bytes(1, FS_PAGE, FS_PAGE + 4000));
	ck_assert_mem_eq(page, file + FS_PAGE, FS_PAGE);
	/* A completed page is forgotten. */
	ck_assert(!add_bytes(1, FS_PAGE, FS_PAGE + 100));
	fs_pages_done(&edges);
}

TEST(test_many_parts_complete_a_page)
{
	setup();
	ck_assert(!add_bytes(1, 1000, 2000));
	ck_assert(!add_bytes(1, 0, 1000));
	ck_assert(!add_bytes(1, 2000, 2001));
	ck_assert(add_bytes(1, 2001, FS_PAGE));
	ck_assert_mem_eq(page, file, FS_PAGE);
	fs_pages_done(&edges);
}

TEST(test_parts_of_other_pages_are_not_joined)
{
	setup();
	ck_assert(!add_bytes(1, 0, 1000));
	ck_assert(!add_bytes(2, 1000, FS_PAGE));
	ck_assert(!add_bytes(1, FS_PAGE + 1000, 2 * FS_PAGE));
	ck_assert(!add_bytes(1, 1001, FS_PAGE)); /* a byte is missing */
	ck_assert(!add_bytes(1, 0, 0));
	fs_pages_done(&edges);
}

TEST(test_the_number_of_pages_is_bounded)
{
	size_t kept = 0;

	setup();
	for (uint64_t i = 0; i < 10 * FS_PAGES; i++)
		ck_assert(!fs_pages_add(&edges, 1, i * FS_PAGE, file, 10, page));
	for (size_t i = 0; i < FS_PAGES; i++)
		kept += edges.slots[i].bytes != NULL;
	ck_assert_uint_le(kept, FS_PAGES);
	fs_pages_done(&edges);
}
