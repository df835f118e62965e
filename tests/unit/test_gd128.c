/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/digest/gd128.h"

#include "base/scope.h"
#include "tests/unit/test.h"

#include <string.h>

#define BYTES (3 * GD128_PAGE_BYTES + 1003)

/* Deterministic bytes: the numbers of the keys' generator from 1000 on. */
static uint8_t *deterministic_bytes(size_t bytes)
{
	uint8_t *data = malloc(bytes + 8);

	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = gd128_key(1000 + i / 8);

		memcpy(data + i, &word, 8);
	}
	return data;
}

static void ck_equal(struct gd128 a, struct gd128 b)
{
	ck_assert_uint_eq(a.lo, b.lo);
	ck_assert_uint_eq(a.hi, b.hi);
}

static void ck_differ(struct gd128 a, struct gd128 b)
{
	ck_assert_uint_ne(a.lo, b.lo);
	ck_assert_uint_ne(a.hi, b.hi);
}

/* A direct implementation of the specification for whole units. */
static struct gd128 reference_digest(const uint8_t *data, uint64_t bytes)
{
	struct gd128 sum = {0, 0};

	for (uint64_t at = 0; at < bytes; at += GD128_PAGE_BYTES) {
		struct gd128 page = {0, 0};
		uint64_t p = at / GD128_PAGE_BYTES;

		for (unsigned u = 0; u < GD128_PAGE_UNITS; u++) {
			uint64_t from = at + u * GD128_UNIT_BYTES, w[2] = {0, 0};

			if (from >= bytes)
				break;
			memcpy(w, data + from, bytes - from < 16 ? bytes - from : 16);
			gd128_unit(&page, w[0], w[1], gd128_key(2 * u), gd128_key(2 * u + 1));
		}
		gd128_unit(&sum, page.lo, page.hi, gd128_key((1ull << 32) + 2 * p),
			   gd128_key((1ull << 32) + 2 * p + 1));
	}
	gd128_unit(&sum, bytes, 0, gd128_key(1ull << 63), gd128_key((1ull << 63) + 1));
	return sum;
}

/* Known answers, computed by tests/unit/gd128.py from doc/design/digest.md alone. */
static const struct {
	size_t bytes;
	struct gd128 digest;
} known[] = {
	{0, {0x4644c3caa42e5566u, 0x3756ffa583051136u}},
	{1, {0xb9a494974bcba1e4u, 0x5aa49be95a874213u}},
	{15, {0x5ddea84a86477728u, 0x199a78b085a018c6u}},
	{16, {0x2f90e699ed0f80fau, 0xdc7b10bd73bdc1ebu}},
	{17, {0x00f5da3e5ff8e380u, 0x0c9d86ac7da5e15cu}},
	{1000, {0xdc0eeec7de52b54fu, 0xc2d1cac09d97456au}},
	{65536, {0x3c99dbb152a883eeu, 0xa61082be3bf28e92u}},
	{65537, {0x99ff92a575239f3cu, 0xf4471b6db688bd15u}},
	{197611, {0x5c3a078263b10204u, 0xafbedce4098e482au}},
};

TEST(test_known_answers)
{
	scoped(free_ptr) uint8_t *data = deterministic_bytes(BYTES);

	ck_assert_uint_eq(gd128_key(0), 0xe220a8397b1dcdafu);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		ck_equal(gd128_of(data, known[i].bytes), known[i].digest);
}

TEST(test_every_length)
{
	scoped(free_ptr) uint8_t *data = deterministic_bytes(BYTES);

	for (size_t n = 0; n < 300; n++)
		ck_equal(gd128_of(data, n), reference_digest(data, n));
	for (size_t n = GD128_PAGE_BYTES - 20; n < GD128_PAGE_BYTES + 20; n++)
		ck_equal(gd128_of(data, n), reference_digest(data, n));
}

TEST(test_any_address)
{
	scoped(free_ptr) uint8_t *data = deterministic_bytes(BYTES), *moved = malloc(BYTES + 16);

	ck_assert_ptr_nonnull(moved);
	for (size_t shift = 0; shift < 16; shift++) {
		memcpy(moved + shift, data, BYTES);
		ck_equal(gd128_of(moved + shift, BYTES), gd128_of(data, BYTES));
	}
}

/* Splits at random units, added in random order. */
TEST(test_any_split_and_order)
{
	scoped(free_ptr) uint8_t *data = deterministic_bytes(BYTES);
	struct gd128 whole = gd128_of(data, BYTES);

	for (unsigned seed = 1; seed < 50; seed++) {
		size_t cuts[65] = {0};
		struct gd128 pages[4] = {{0, 0}};

		for (unsigned i = 1; i < 64; i++)
			cuts[i] =
				cuts[i - 1] + gd128_key(seed * 64 + i) % (2 * BYTES / 16 / 64) * 16;
		cuts[64] = BYTES;
		for (unsigned i = 1; i < 64; i++)
			cuts[i] = cuts[i] < BYTES ? cuts[i] : BYTES / 16 * 16;
		for (unsigned i = 0; i < 64; i++) {
			unsigned piece = (i * 37 + seed) % 64;
			size_t from = cuts[piece];

			gd128_add(pages, from, data + from, cuts[piece + 1] - from);
		}
		ck_equal(gd128_fold(pages, BYTES), whole);
	}
}

static void swap(uint8_t *a, uint8_t *b, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		uint8_t c = a[i];

		a[i] = b[i];
		b[i] = c;
	}
}

TEST(test_swaps_are_seen)
{
	static const struct {
		size_t a, b, bytes;
	} rows[] = {
		{0, 16, 16},		 /* two units */
		{0, 8, 8},		 /* the halves of a unit */
		{32, 32 + 65536, 16},	 /* the same unit of two pages */
		{0, 65536, 65536},	 /* two pages */
		{100, 3 * 65536 + 7, 1}, /* two bytes */
	};
	scoped(free_ptr) uint8_t *data = deterministic_bytes(BYTES);
	struct gd128 whole = gd128_of(data, BYTES);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		swap(data + rows[i].a, data + rows[i].b, rows[i].bytes);
		ck_differ(gd128_of(data, BYTES), whole);
		swap(data + rows[i].a, data + rows[i].b, rows[i].bytes);
	}
	ck_equal(gd128_of(data, BYTES), whole);
}

/* A few set units in zeros: every offset, and every pair of offsets with the same sum, gives a
 * different digest. A sum with equidistant keys fails for pairs, XOR fails for duplicates. */
TEST(test_duplicates_and_moves_are_seen)
{
	enum { UNITS = 64 };
	uint64_t data[2 * UNITS] = {0};
	struct gd128 seen[UNITS + UNITS / 2 + 1];
	size_t n = 0;

	seen[n++] = gd128_of(data, sizeof(data));
	for (size_t i = 0; i < UNITS; i++) {
		data[2 * i] = 1;
		seen[n++] = gd128_of(data, sizeof(data));
		data[2 * i] = 0;
	}
	for (size_t i = 0; i < UNITS / 2; i++) {
		data[2 * i] = data[2 * (UNITS - 1 - i)] = 1;
		seen[n++] = gd128_of(data, sizeof(data));
		data[2 * i] = data[2 * (UNITS - 1 - i)] = 0;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			ck_differ(seen[i], seen[j]);
}

TEST(test_lengths_of_zeros_differ)
{
	uint8_t zeros[100] = {0};
	struct gd128 seen[101];

	for (size_t n = 0; n <= 100; n++) {
		seen[n] = gd128_of(zeros, n);
		for (size_t m = 0; m < n; m++)
			ck_assert(seen[m].lo != seen[n].lo || seen[m].hi != seen[n].hi);
	}
}

TEST(test_a_page_sum_tells_the_page)
{
	scoped(free_ptr) uint8_t *data = deterministic_bytes(BYTES);
	struct gd128 before[4] = {{0, 0}}, after[4] = {{0, 0}};

	gd128_add(before, 0, data, BYTES);
	data[2 * GD128_PAGE_BYTES + 77] ^= 4;
	gd128_add(after, 0, data, BYTES);
	for (unsigned p = 0; p < 4; p++) {
		if (p == 2)
			ck_differ(before[p], after[p]);
		else
			ck_equal(before[p], after[p]);
	}
}
