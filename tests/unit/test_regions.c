/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/regions.h"

#include "base/scope.h"
#include "tests/unit/test.h"

static uint64_t last_id;

static void add_region(struct cap_regions *r, uint64_t base, uint64_t bytes, uint64_t owner)
{
	const struct cap_region made = {
		.base = base, .bytes = bytes, .id = ++last_id, .owner = owner};

	ck_assert_int_eq(cap_regions_add(r, &made), 0);
}

static uint64_t id_at(const struct cap_regions *r, uint64_t address)
{
	struct cap_region *found = cap_regions_find(r, address);

	return found ? found->id : 0;
}

TEST(test_the_range_that_holds_an_address)
{
	scoped(cap_regions_done) struct cap_regions r = {0};

	last_id = 0;
	add_region(&r, 0x3000, 0x100, 0);
	add_region(&r, 0x1000, 0x100, 0);
	add_region(&r, 0x1100, 0x10, 0);
	ck_assert_uint_eq(id_at(&r, 0xfff), 0);
	ck_assert_uint_eq(id_at(&r, 0x1000), 2);
	ck_assert_uint_eq(id_at(&r, 0x10ff), 2);
	ck_assert_uint_eq(id_at(&r, 0x1100), 3);
	ck_assert_uint_eq(id_at(&r, 0x1110), 0);
	ck_assert_uint_eq(id_at(&r, 0x30ff), 1);
	ck_assert_uint_eq(id_at(&r, 0x3100), 0);
	ck_assert_uint_eq(cap_regions_find_first(&r, 0x1001, 0x2000)->id, 3);
	ck_assert_ptr_null(cap_regions_find_first(&r, 0x1101, 0x1eff));
}

/* The end of a range was not recorded, and its address is used again. */
TEST(test_new_regions_replace_overlapping_ones)
{
	scoped(cap_regions_done) struct cap_regions r = {0};

	last_id = 0;
	add_region(&r, 0x1000, 0x100, 0);
	add_region(&r, 0x1100, 0x100, 0);
	add_region(&r, 0x1200, 0x100, 0);
	add_region(&r, 0x1080, 0x180, 0);
	ck_assert_uint_eq(r.n, 2);
	ck_assert_uint_eq(id_at(&r, 0x1000), 0);
	ck_assert_uint_eq(id_at(&r, 0x1180), 4);
	ck_assert_uint_eq(id_at(&r, 0x1200), 3);
}

TEST(test_a_variable_queried_twice)
{
	scoped(cap_regions_done) struct cap_regions r = {0};
	struct cap_region v = {.base = 0x1000, .bytes = 4, .id = 1, .kind = CAP_MEMORY_GLOBAL};

	ck_assert_int_eq(cap_regions_add(&r, &v), 0);
	v.id = 2;
	ck_assert_int_eq(cap_regions_add(&r, &v), 0);
	ck_assert_uint_eq(id_at(&r, 0x1000), 1);
	ck_assert_uint_eq(r.n, 1);
}

static int owned(const struct cap_region *range, const void *owner)
{
	return range->owner == *(const uint64_t *)owner;
}

TEST(test_removal)
{
	scoped(cap_regions_done) struct cap_regions r = {0};
	uint64_t owner = 7;

	for (uint64_t i = 0; i < 100; i++)
		add_region(&r, i * 0x1000, 0x1000, i % 10);
	cap_regions_remove(&r, 0x5000, 1);
	ck_assert_uint_eq(id_at(&r, 0x5800), 0);
	cap_regions_remove(&r, 0x10000, 0x10000);
	ck_assert_uint_eq(r.n, 100 - 1 - 16);
	ck_assert_uint_eq(id_at(&r, 0xf800), 16);
	ck_assert_uint_eq(id_at(&r, 0x10000), 0);
	ck_assert_uint_eq(id_at(&r, 0x20000), 33);
	cap_regions_remove_if(&r, owned, &owner);
	ck_assert_uint_eq(id_at(&r, 0x7000), 0);
	ck_assert_uint_eq(id_at(&r, 0x8000), 9);
}
