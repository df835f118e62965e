/* SPDX-License-Identifier: Apache-2.0 */

/* Compares the launches of two operations: grid, parameters of kernels, lengths and values of
 * copies and memsets, allocations and offsets in them. Ignores values that differ between runs of a
 * program: handles, addresses, 64-bit numbers that may be either, and parameters of other sizes
 * than 4 and 8 bytes, which may contain padding. One thread. */
#pragma once

#include "formats/render/report/cause_side.h"

/* Returns false if they differ, and appends the argument to both texts: "kernelParams[0] =
 * 8191". */
bool fmt_cause_call_same(const struct fmt_cause_side *a, const struct fmt_cause_item *x,
			 const struct fmt_cause_side *b, const struct fmt_cause_item *y,
			 struct text *first, struct text *second);
