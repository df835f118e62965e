/* SPDX-License-Identifier: Apache-2.0 */

/* PyTorch's own depthwise convolutions take the time of their instructions, which the sizes of
 * their tensors tell. */
#include "tests/emugpu/check_driver.h"

#define PARAMS "(.param .align 8 .b8 a[40], .param .align 8 .b8 b[40], .param .align 8 .b8 c[40])"

static const char ptx[] = PTX(ENTRY("conv_depthwise2d_forward_kernel" PARAMS)
				      ENTRY("conv_depthwise2d_backward_kernel" PARAMS)
					      ENTRY("conv_depthwise2d_grad_weight_kernel" PARAMS));

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
	CUevent before = record_now();
	float ms;

	OK(cuLaunchKernel(f, blocks, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	ms = ms_since(before);
	unload(f);
	return ms;
}

/* Elements for each of which a thread or a lane of a warp has some hundred instructions, on 132
 * multiprocessors that issue four times 32 in a cycle of 1.98 GHz. */
static void check(float ms, double elements, double least, double most)
{
	double instructions = ms / 1e3 * 132 * 4 * 32 * 1.98e9 / elements;

	TRUE(instructions > least && instructions < most);
}

int main(void)
{
	double in = 256.0 * 96 * 112 * 112, out = in / 4;

	use_device(0);
	check(time_of("conv_depthwise2d_forward_kernel", &x, &y, 1000000), out, 200, 400);
	check(time_of("conv_depthwise2d_backward_kernel", &y, &x, 1000000), in, 400, 800);
	check(time_of("conv_depthwise2d_grad_weight_kernel", &y, &x, 96 * 9), 9 * out, 30, 60);
	return 0;
}
