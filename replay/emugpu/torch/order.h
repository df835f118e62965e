/* SPDX-License-Identifier: Apache-2.0 */

/* The order of elements: NaN is the largest, and equal elements keep their order. */
#pragma once

#include "replay/emugpu/math/element.h"

#include <math.h>

struct emu_item {
	double key;
	uint64_t low; /* orders 8-byte integers that are the same double; else 0 */
	int64_t at;
};

static inline struct emu_item emu_item_of(enum emu_type type, const char *data, int64_t i,
					  int64_t at)
{
	struct emu_item r = {.key = emu_load(type, data, i), .at = at};

	if (type == EMU_I64 || type == EMU_U64)
		memcpy(&r.low, data + 8 * i, sizeof(r.low));
	return r;
}

/* NaN is the largest. */
static inline int emu_item_compare(const struct emu_item *x, const struct emu_item *y)
{
	double a = x->key, b = y->key;

	if (isnan(a) || isnan(b))
		return (isnan(a) != 0) - (isnan(b) != 0);
	return a == b ? (x->low > y->low) - (x->low < y->low) : (a > b) - (a < b);
}

static inline int emu_item_ascending(const void *a, const void *b)
{
	const struct emu_item *x = a, *y = b;
	int r = emu_item_compare(x, y);

	return r ? r : (x->at > y->at) - (x->at < y->at);
}

static inline int emu_item_descending(const void *a, const void *b)
{
	const struct emu_item *x = a, *y = b;
	int r = emu_item_compare(y, x);

	return r ? r : (x->at > y->at) - (x->at < y->at);
}
