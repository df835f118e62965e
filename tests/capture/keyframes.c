/* SPDX-License-Identifier: Apache-2.0 */

/* keyframes: one thread, a buffer on each of two GPUs and one of page-locked memory. Iteration k
 * fills page k of the buffers with k + 1; first they are filled with 238.
 *
 * keyframes waits: GPU 0 waits for a word that the thread writes after iteration 1 has begun. */
#include "tests/emugpu/check_driver.h"
#include <gputrace.h>

#include <string.h>

#define BYTES 200000
#define PAGE 65536
#define STEPS 3

static CUcontext context_of(int device)
{
	CUcontext c;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&c, device));
	OK(cuCtxSetCurrent(c));
	return c;
}

static int wait_for_host(void)
{
	CUdeviceptr buffer;
	CUstream stream;
	unsigned *word;

	context_of(0);
	OK(cuMemHostAlloc((void **)&word, sizeof(*word), 0));
	*word = 0;
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&buffer, BYTES));
	OK(cuMemsetD8(buffer, 1, BYTES));
	gputrace_mark_iteration();
	OK(cuStreamWaitValue32(stream, (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuMemsetD8Async(buffer, 2, BYTES, stream));
	gputrace_mark_iteration();
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(stream));
	gputrace_mark_iteration();
	OK(cuMemsetD8(buffer, 3, BYTES));
	return 0;
}

int main(int argc, char **unused)
{
	CUcontext contexts[2];
	CUdeviceptr buffers[2];
	unsigned char *host;

	if (argc > 1)
		return wait_for_host();
	for (int i = 0; i < 2; i++) {
		contexts[i] = context_of(i);
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
