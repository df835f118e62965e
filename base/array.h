/* SPDX-License-Identifier: Apache-2.0 */

/* Growing arrays, of which the caller holds pointer, length and capacity; and binary search in a
 * sorted array.
 *
 *     struct event *events; size_t n_events, events_cap;
 *     if (array_reserve(&events, n_events + 1, &events_cap) < 0)
 *             return -ENOMEM;
 *     events[n_events++] = e;
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Reserves space for `want` items of `size` bytes in the array *(void **)items. Returns 0 or
 * -ENOMEM. */
static inline int array_reserve_bytes(void *items, size_t want, size_t *cap, size_t size)
{
	void *old, *grown;
	size_t next;

	if (want <= *cap)
		return 0;
	next = *cap * 2 + 16;
	if (next < want)
		next = want;
	if (next > SIZE_MAX / size)
		return -ENOMEM;
	memcpy(&old, items, sizeof(old));
	grown = realloc(old, next * size);
	if (!grown)
		return -ENOMEM;
	memcpy(items, &grown, sizeof(grown));
	*cap = next;
	return 0;
}

#define array_reserve(items, want, cap)                                                            \
	array_reserve_bytes((items), (want), (cap), sizeof(**(items)))

/* Compares two numbers, for qsort(). Chain several with `?:`. */
#define array_order(a, b) (((a) > (b)) - ((a) < (b)))

/* For qsort() of int64_t. */
static inline int array_by_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return array_order(x, y);
}

/* Binary search: the first index in [from, to) for which `before`, an expression in `i`, is false.
 * It must be true for all smaller indexes and false for all larger ones.
 *
 *     first = array_bound(i, 0, n, events[i].start_ns < start_ns);
 */
#define array_bound(i, from, to, before)                                                           \
	({                                                                                         \
		size_t low_ = (from), high_ = (to);                                                \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
			if (before)                                                                \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})
