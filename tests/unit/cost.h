/* SPDX-License-Identifier: Apache-2.0 */

/* GPU models and kernel names for tests of replay/cost. */
#pragma once

#include "replay/cost/gpu.h"

#include "tests/unit/test.h"

#define VECTOR "void at::native::vectorized_elementwise_kernel<4, at::native::"
#define GELU VECTOR "GeluCUDAKernelImpl<float>, at::detail::Array<char*, 2> >(int, F, A)"

static inline struct cost_gpu gpu_of(const char *name)
{
	struct cost_gpu g;
	char why[400];

	ck_assert_msg(cost_gpu_load(name, &g, why, sizeof(why)) == 0, "%s: %s", name, why);
	return g;
}
