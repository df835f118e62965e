/* SPDX-License-Identifier: Apache-2.0 */

/* keyframes: one thread, a buffer on each of two GPUs and one of page-locked memory. Iteration k
 * fills page k of the buffers with k + 1; first they are filled with 238. */
#include "tests/emugpu/check_driver.h"
#include <gputrace.h>

#include <string.h>

#define BYTES 200000
#define PAGE 65536
#define STEPS 3

int main(void)
{
	CUcontext contexts[2];
	CUdeviceptr buffers[2];
	unsigned char *host;

	OK(cuInit(0));
	for (int i = 0; i < 2; i++) {
		OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuMemAlloc(&buffers[i], BYTES));
		OK(cuMemsetD8(buffers[i], 238, BYTES));
	}
	OK(cuMemHostAlloc((void **)&host, 1000, 0));
	memset(host, 238, 1000);
	for (int k = 0; k < STEPS; k++) {
		gputrace_mark_iteration();
		for (int i = 0; i < 2; i++) {
			OK(cuCtxSetCurrent(contexts[i]));
			OK(cuMemsetD8(buffers[i] + k * PAGE, (unsigned char)(k + 1), 4096));
		}
		host[k] = (unsigned char)(k + 1);
	}
	gputrace_mark_iteration();
	for (int i = 0; i < 2; i++) {
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuMemsetD8(buffers[i], 99, BYTES));
	}
	return 0;
}
