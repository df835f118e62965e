/* SPDX-License-Identifier: Apache-2.0 */

/* After a synchronisation the stream is idle, and the next submission runs in the calling thread:
 * another thread would order it with other streams by real time. */
#include "tests/emugpu/check_driver.h"
#include <gpuemu.h>

#include <pthread.h>

static pthread_t launched_by;

static void note_thread(struct gpuemu_launch *launch, void *const *args)
{
	launched_by = pthread_self();
}

static void do_nothing(void *data)
{
}

int main(void)
{
	static const struct gpuemu_kernel kernel = {.name = "noted", .run = note_thread};
	int others = 0;
	CUdevice device;
	CUcontext context;
	CUstream stream;
	CUevent event;
	CUfunction f;

	gpuemu_register(&kernel);
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuCtxCreate(&context, NULL, 0, device));
	f = load_kernel(PTX(ENTRY("noted()")), "noted");
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < 2000; i++) {
		OK(cuLaunchHostFunc(stream, do_nothing, NULL)); /* runs in the stream's thread */
		OK(cuEventRecord(event, stream));
		while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
			;
		OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
		OK(cuStreamSynchronize(stream));
		others += !pthread_equal(launched_by, pthread_self());
	}
	TRUE(others == 0);
	OK(cuEventDestroy(event));
	OK(cuStreamDestroy(stream));
	unload(f);
	OK(cuCtxDestroy(context));
	return 0;
}
