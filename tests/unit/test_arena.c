/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/scope.h"
#include "tests/unit/test.h"

#include <string.h>

/* Pieces of all sizes and alignments keep what was written to them. */
TEST(pieces_lie_apart_and_aligned)
{
	static const size_t sizes[] = {0, 1, 7, 64, 4095, 20000, 70000};
	struct arena a = {0};
	unsigned char *pieces[70];
	size_t n = sizeof(pieces) / sizeof(pieces[0]);

	for (size_t i = 0; i < n; i++) {
		size_t align = (size_t)1 << i % 8;

		pieces[i] = arena_take(&a, sizes[i % 7], align);
		ck_assert_ptr_nonnull(pieces[i]);
		ck_assert_uint_eq((uintptr_t)pieces[i] % align, 0);
		memset(pieces[i], (int)i, sizes[i % 7]);
	}
	for (size_t i = 0; i < n; i++) {
		size_t same = 0;

		while (same < sizes[i % 7] && pieces[i][same] == i)
			same++;
		ck_assert_uint_eq(same, sizes[i % 7]);
	}
	arena_done(&a);
	ck_assert_ptr_null(a.blocks);
}

/* An array that grows keeps its items. */
TEST(arrays_grow)
{
	enum { N = 300000 };
	scoped(arena_done) struct arena a = {0};
	uint32_t *items = NULL, cap = 0;

	for (uint32_t n = 0; n < N; n++) {
		if (n == cap)
			ck_assert_int_eq(arena_reserve(&a, &items, n + 1ul, &cap), 0);
		items[n] = n;
	}
	for (uint32_t n = 0; n < N; n++)
		if (items[n] != n)
			ck_abort_msg("item %u is %u", n, items[n]);
	ck_assert_int_eq(arena_reserve(&a, &items, SIZE_MAX, &cap), -ENOMEM);
}

TEST(impossible_sizes_are_refused)
{
	scoped(arena_done) struct arena a = {0};

	ck_assert_ptr_null(arena_take(&a, SIZE_MAX, 8));
	ck_assert_ptr_null(arena_take(&a, SIZE_MAX - 64, 64));
}
