/* SPDX-License-Identifier: Apache-2.0 */

/* times: copies to a GPU, one behind the other on a stream that is never idle. The last one takes
 * as long, whoever else uses the stream. */
#include "tests/emugpu/check_driver.h"

#define BYTES (size_t)(32 << 20)
#define COPIES 3

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUstream stream;
	CUdeviceptr to;
	void *from;

	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&to, BYTES));
	OK(cuMemHostAlloc(&from, BYTES, 0));
	for (int i = 0; i < COPIES; i++)
		OK(cuMemcpyHtoDAsync(to, from, BYTES, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemFreeHost(from));
	OK(cuMemFree(to));
	OK(cuStreamDestroy(stream));
	return 0;
}
