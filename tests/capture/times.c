/* SPDX-License-Identifier: Apache-2.0 */

/* times: copies to a GPU, one behind the other on a stream that is never idle. The last one takes
 * as long, whoever else uses the stream.
 *
 * times SECONDS [IDLE]: a copy each second of virtual time, and between which moments: "between
 * FROM TO". IDLE seconds later it does the same again.
 */
#include "tests/emugpu/check_driver.h"

#include <inttypes.h>

#define BYTES (size_t)(32 << 20)
#define COPIES 3

uint64_t gpuemu_host_ns(void);
void gpuemu_thread_not_before(int64_t ns);

static void behind(CUdeviceptr to, const void *from, CUstream stream)
{
	for (int i = 0; i < COPIES; i++)
		OK(cuMemcpyHtoDAsync(to, from, BYTES, stream));
	OK(cuStreamSynchronize(stream));
}

static void each_second(int first, int seconds, CUdeviceptr to, const void *from, CUstream stream)
{
	for (int i = first; i < first + seconds; i++) {
		gpuemu_thread_not_before(i * INT64_C(1000000000));
		uint64_t begun = gpuemu_host_ns();

		OK(cuMemcpyHtoDAsync(to, from, 64, stream));
		OK(cuStreamSynchronize(stream));
		printf("between %" PRIu64 " %" PRIu64 "\n", begun, gpuemu_host_ns());
	}
}

int main(int argc, char **argv)
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
	if (argc > 1)
		each_second(1, atoi(argv[1]), to, from, stream);
	if (argc > 2)
		each_second(atoi(argv[2]), atoi(argv[1]), to, from, stream);
	if (argc == 1)
		behind(to, from, stream);
	OK(cuMemFreeHost(from));
	OK(cuMemFree(to));
	OK(cuStreamDestroy(stream));
	return 0;
}
