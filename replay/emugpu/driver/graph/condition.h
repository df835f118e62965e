/* SPDX-License-Identifier: Apache-2.0 */

/* Conditions: values that kernels set and conditional nodes of graphs read. They exist until the
 * process ends, because handles have no destructor. Any thread. */
#pragma once

#include "replay/emugpu/driver/cuda_api.h"

#include <gpuemu.h>

struct emu_condition {
	unsigned value, at_launch;
	int has_default; /* a launch sets the value to `at_launch` */
	uint64_t n_set;	 /* number of times that a kernel has set the value */
};

/* Returns 0 for an invalid handle. */
int emu_condition_is_valid(CUgraphConditionalHandle handle);
/* The handle must be valid. */
struct emu_condition emu_condition_get(CUgraphConditionalHandle handle);
void emu_condition_reset(CUgraphConditionalHandle handle);

gpuemu_set_conditional_fn gpuemu_set_conditional; /* exported (gpuemu.h) */
