/* SPDX-License-Identifier: Apache-2.0 */

/* Kernel parameters in a ring, and the layouts that describe their offsets. */
#include "base/array.h"
#include "base/scope.h"
#include "formats/raw/layouts.h"
#include "tests/unit/test.h"

#define NUMBER 7

/* 4 bytes at offset 0 and 8 bytes at offset 8, as in a layout record. */
static const struct {
	struct cap_record head;
	uint16_t registers, shared_bytes;
	uint32_t n;
	struct cap_param params[2];
} two = {{.bytes = 32, .kind = CAP_LAYOUT, .flags = NUMBER}, 40, 1024, 2, {{0, 4}, {8, 8}}};

static const struct {
	struct cap_record head;
	uint64_t id, bytes[2];
} packed = {{.bytes = 32, .kind = CAP_PARAMS, .depth = 9, .flags = NUMBER},
	    5,
	    {0x11223344, 0x55667788}};

static const struct {
	uint32_t n, params[4];
	uint16_t registers, shared_bytes;
	uint64_t bytes[2];
} wanted = {2, {0, 4, 8, 8}, 40, 1024, {0x11223344, 0x55667788}};

TEST(parameters_and_layout_make_a_blob)
{
	scoped(cap_layouts_done) struct cap_layouts l = {0};
	_Alignas(8) uint8_t room[128] = {0};
	struct cap_blob_record *b = (void *)room;

	ck_assert_int_eq(cap_layouts_add(&l, (const void *)&two), 0);
	ck_assert_uint_eq(cap_layouts_blob_bytes(&l, (const void *)&packed),
			  sizeof(*b) + sizeof(wanted));
	cap_layouts_make_blob(&l, (const void *)&packed, b);
	ck_assert_uint_eq(b->head.bytes, sizeof(*b) + sizeof(wanted));
	ck_assert_uint_eq(b->head.kind, CAP_BLOB);
	ck_assert_uint_eq(b->head.flags, CAP_BLOB_PARAMS);
	ck_assert_uint_eq(b->arg, 9);
	ck_assert_uint_eq(b->id, 5);
	ck_assert_uint_eq(b->len, sizeof(wanted));
	ck_assert_uint_eq(b->whole_len, sizeof(wanted));
	ck_assert_mem_eq(b->data, &wanted, sizeof(wanted));
}

/* Layouts that exceed `packed`, or have another layout's number. */
TEST(layouts_are_checked)
{
	static const struct {
		uint8_t number;
		struct cap_param param;
		uint32_t blob_bytes;
	} rows[] = {
		{NUMBER, {8, 8}, 32 + 16 + 16},
		{NUMBER, {12, 4}, 32 + 16 + 16},
		{NUMBER, {12, 8}, 0},
		{NUMBER, {0, UINT32_MAX}, 0},
		{NUMBER, {UINT32_MAX, UINT32_MAX}, 0},
		{NUMBER + 1, {0, 4}, 0},
		{255, {0, 4}, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		scoped(cap_layouts_done) struct cap_layouts l = {0};
		const struct {
			struct cap_record head;
			uint32_t spare, n;
			struct cap_param param;
		} one = {{.bytes = 24, .kind = CAP_LAYOUT, .flags = rows[i].number},
			 0,
			 1,
			 rows[i].param};

		ck_assert_int_eq(cap_layouts_add(&l, (const void *)&one), 0);
		ck_assert_uint_eq(cap_layouts_blob_bytes(&l, (const void *)&packed),
				  rows[i].blob_bytes);
	}
}

/* A layout number is reused by another layout, by one without parameters, and by none. */
TEST(numbers_refer_to_the_last_layout)
{
	scoped(cap_layouts_done) struct cap_layouts l = {0};
	const struct cap_layout_record none = {
		.head = {.bytes = 16, .kind = CAP_LAYOUT, .flags = NUMBER}};

	ck_assert_int_eq(cap_layouts_add(&l, (const void *)&two), 0);
	ck_assert_int_eq(cap_layouts_add(&l, &none), 0);
	ck_assert_uint_eq(cap_layouts_blob_bytes(&l, (const void *)&packed), 32 + 8);
	ck_assert_int_eq(cap_layouts_add(&l, (const void *)&two), 0);
	ck_assert_uint_eq(cap_layouts_blob_bytes(&l, (const void *)&packed), 32 + sizeof(wanted));
	cap_layouts_done(&l);
	ck_assert_uint_eq(cap_layouts_blob_bytes(&l, (const void *)&packed), 0);
}
