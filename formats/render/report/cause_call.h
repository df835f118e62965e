/* SPDX-License-Identifier: Apache-2.0 */

/* Compares how two operations were launched: grid, parameters of kernels, lengths and values of
 * copies and fills, allocations and offsets in them. Not compared is what differs from run to run
 * of a program: handles, addresses, numbers of 64 bits that may be either, and the bytes of
 * parameters of other lengths than 4 and 8, which may have gaps. One thread. */
#pragma once

#include "formats/render/report/cause_side.h"

/* False: they differ, and the argument is appended to both texts: "kernelParams[0] = 8191". */
bool fmt_cause_call_same(const struct fmt_cause_side *a, const struct fmt_cause_item *x,
			 const struct fmt_cause_side *b, const struct fmt_cause_item *y,
			 struct text *first, struct text *second);
