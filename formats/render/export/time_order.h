/* SPDX-License-Identifier: Apache-2.0 */

/* Merges the events of several tracks, each of which is sorted, by time. Equal times keep the order
 * in which they were added. Not thread-safe. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct fmt_time_order_item {
	int64_t start_ns;
	uint64_t index;
};

struct fmt_time_order {
	struct fmt_time_order_item *items;
	size_t n, cap;
};

int fmt_time_order_add(struct fmt_time_order *o, int64_t start_ns, uint64_t index);
int fmt_time_order_sort(struct fmt_time_order *o);
void fmt_time_order_done(struct fmt_time_order *o);
