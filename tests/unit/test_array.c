/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "tests/unit/test.h"

/* Binary search agrees with linear search for both bounds. */
TEST(binary_search_agrees_with_linear_search)
{
	static const int sorted[] = {1, 3, 3, 3, 7, 9};

	for (size_t from = 0; from <= ARRAY_SIZE(sorted); from++)
		for (size_t to = from; to <= ARRAY_SIZE(sorted); to++)
			for (int value = 0; value < 11; value++) {
				size_t want = from;

				while (want < to && sorted[want] < value)
					want++;
				ck_assert_uint_eq(array_bound(i, from, to, sorted[i] < value),
						  want);
			}
	ck_assert_uint_eq(array_bound(i, 3, 1, sorted[i] < 9), 3);
}
