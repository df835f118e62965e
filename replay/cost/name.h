/* SPDX-License-Identifier: Apache-2.0 */

/* The kind of work of a kernel, from its name. */
#pragma once

#include "replay/cost/cost.h"

struct cost_name {
	enum cost_class class;
	unsigned items;		 /* element-wise: elements of a thread; 0: not in the name */
	unsigned arrays;	 /* element-wise: arrays read and written; 0: not in the name */
	unsigned bytes;		 /* of an element; 0: not in the name */
	unsigned tile_m, tile_n; /* of a product */
	int sliced;
	enum gpuemu_math math;
	int persistent; /* softmax: one warp keeps its rows in registers */
};

/* Takes some microseconds. */
struct cost_name cost_name_of(const char *demangled);
