/* SPDX-License-Identifier: Apache-2.0 */

/* times: copies to a GPU, one after another on a stream that is never idle. The recorder's work on
 * the stream must not change the duration of the last copy.
 *
 * times legacy: copies on the legacy stream and on a blocking stream in turns, then one on a
 * non-blocking stream. Each except the last waits for the one before it.
 *
 * times SECONDS [IDLE]: a copy each second of virtual time, and the times before and after it:
 * "between FROM TO". Does the same again IDLE seconds later.
 */
#include "tests/emugpu/check_driver.h"

#include <inttypes.h>
#include <string.h>

#define BYTES (size_t)(32 << 20)
#define COPIES 3

uint64_t gpuemu_host_ns(void);
void gpuemu_thread_not_before(int64_t ns);

static void copy_in_sequence(CUdeviceptr to, const void *from, CUstream stream)
{
	for (int i = 0; i < COPIES; i++)
		OK(cuMemcpyHtoDAsync(to, from, BYTES, stream));
	OK(cuStreamSynchronize(stream));
}

static void in_turns(CUdeviceptr to, const void *from, CUstream independent)
{
	CUstream waits, *turns[] = {NULL, NULL, &waits, NULL, &waits, &waits, NULL};

	OK(cuStreamCreate(&waits, CU_STREAM_DEFAULT));
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++)
		OK(cuMemcpyHtoDAsync(to, from, BYTES, turns[i] ? *turns[i] : NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyHtoDAsync(to, from, BYTES, independent));
	OK(cuCtxSynchronize());
	OK(cuStreamDestroy(waits));
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
	CUstream stream;
	CUdeviceptr to;
	void *from;

	use_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&to, BYTES));
	OK(cuMemHostAlloc(&from, BYTES, 0));
	if (argc > 1 && strcmp(argv[1], "legacy") == 0)
		in_turns(to, from, stream);
	else if (argc > 1)
		each_second(1, atoi(argv[1]), to, from, stream);
	if (argc > 2)
		each_second(atoi(argv[2]), atoi(argv[1]), to, from, stream);
	if (argc == 1)
		copy_in_sequence(to, from, stream);
	OK(cuMemFreeHost(from));
	OK(cuMemFree(to));
	OK(cuStreamDestroy(stream));
	return 0;
}
