/* SPDX-License-Identifier: Apache-2.0 */

/* PyTorch's own depthwise convolutions take the time of their tensors, whatever their grids are. */
#include "tests/emugpu/check_driver.h"

#define PARAMS                                                                                     \
	"(.param .align 8 .b8 a[40], .param .align 8 .b8 b[40], .param .align 8 .b8 c[40])"        \
	" { ret; }\n"

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
			  ".visible .entry conv_depthwise2d_forward_kernel" PARAMS
			  ".visible .entry conv_depthwise2d_backward_kernel" PARAMS
			  ".visible .entry conv_depthwise2d_grad_weight_kernel" PARAMS;

struct accessor {
	void *data;
	int32_t sizes[4], strides[4];
};

static struct accessor x = {.sizes = {256, 96, 112, 112}};
static struct accessor y = {.sizes = {256, 96, 56, 56}};
static struct accessor w = {.sizes = {96, 1, 3, 3}};

static float time_of(const char *name, struct accessor *a, struct accessor *b, unsigned blocks)
{
	CUfunction f = load_kernel(ptx, name);
	void *params[] = {a, b, &w};
	CUevent before, after;
	CUmodule module;
	float ms;

	OK(cuEventCreate(&before, 0));
	OK(cuEventCreate(&after, 0));
	OK(cuEventRecord(before, NULL));
	OK(cuLaunchKernel(f, blocks, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	OK(cuEventRecord(after, NULL));
	OK(cuEventSynchronize(after));
	OK(cuEventElapsedTime(&ms, before, after));
	OK(cuEventDestroy(before));
	OK(cuEventDestroy(after));
	OK(cuFuncGetModule(&module, f));
	OK(cuModuleUnload(module));
	return ms;
}

int main(void)
{
	/* 1.5 GB at the 4.8 TB/s of an H200; the L2 cache may hold a part. */
	const float least = 0.3f, most = 0.6f;
	float ms;

	use_device(0);
	ms = time_of("conv_depthwise2d_forward_kernel", &x, &y, 1000000);
	TRUE(ms > least && ms < most);
	ms = time_of("conv_depthwise2d_backward_kernel", &y, &x, 1000000);
	TRUE(ms > least && ms < most);
	ms = time_of("conv_depthwise2d_grad_weight_kernel", &y, &x, 96 * 9);
	TRUE(ms > least && ms < most);
	return 0;
}
