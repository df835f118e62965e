/* SPDX-License-Identifier: Apache-2.0 */

/* The only parameter of the kernel gd128_sum, passed by value. C and CUDA C++. */
#pragma once

#include "capture/digest/gd128_unit.h"

#define GD128_KERNEL "gd128_sum"
#define GD128_PARTS 32u

/* A buffer, and the address of the sums of its pages: one struct gd128 each, 8-byte aligned. */
struct gd128_part {
	uint64_t address, bytes, pages_at;
	uint64_t first_page; /* pages of the parts before it */
};

struct gd128_work {
	uint64_t n_pages; /* of all parts */
	uint32_t n_parts;
	uint32_t spare;
	struct gd128_part parts[GD128_PARTS];
};
