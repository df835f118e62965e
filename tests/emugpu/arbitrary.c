/* SPDX-License-Identifier: Apache-2.0 */

/* The size of a message is computed by a kernel without a host kernel, so the receiver expects
 * another size than the sender sends. Both streams fail, and the errors name the kernel whose
 * result was used. Values written by copies are not arbitrary. */
#include "tests/emugpu/check_driver.h"

#include <nccl.h>
#include <string.h>

static const char ptx[] = PTX(ENTRY("count_items(.param .u64 items, .param .u64 count)"));

static char logged[4096];

static void log_message(void *data, CUlogLevel level, char *message, size_t length)
{
	TRUE(level == CU_LOG_LEVEL_ERROR && strlen(message) == length);
	snprintf(logged, sizeof(logged), "%s", message);
}

/* The count that `count_items` would have computed: unwritten device memory is 0. */
static uint64_t counted_bytes(CUdeviceptr items)
{
	CUdeviceptr count;
	CUfunction f;
	void *params[] = {&items, &count};
	uint64_t bytes;
	char text[64];

	OK(cuMemAlloc(&count, sizeof(bytes)));
	f = load_kernel(ptx, "count_items");
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH(&bytes, count, sizeof(bytes)));
	OK(cuMemcpyDtoH(text, items, sizeof(text))); /* not arbitrary: not counted */
	unload(f);
	return bytes;
}

/* Written by a copy, then read by `count_items`. */
static CUdeviceptr write_items(void)
{
	const char text[64] = "items";
	CUdeviceptr items;

	OK(cuMemAlloc(&items, sizeof(text)));
	OK(cuMemcpyHtoD(items, text, sizeof(text)));
	return items;
}

static void exchange(uint64_t received_bytes)
{
	CUcontext contexts[2];
	CUdeviceptr memory[2];
	CUlogsCallbackHandle handle;
	ncclComm_t comms[2];

	OK(cuLogsRegisterCallback(log_message, NULL, &handle));
	TRUE(ncclCommInitAll(comms, 2, NULL) == ncclSuccess);
	for (int i = 0; i < 2; i++) {
		OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuMemAlloc(&memory[i], 4096));
	}
	TRUE(ncclGroupStart() == ncclSuccess);
	TRUE(ncclSend((void *)memory[0], 64, ncclInt8, 1, comms[0], NULL) == ncclSuccess);
	TRUE(ncclRecv((void *)memory[1], received_bytes, ncclInt8, 0, comms[1], NULL) ==
	     ncclSuccess);
	TRUE(ncclGroupEnd() == ncclSuccess);
	for (int i = 0; i < 2; i++) {
		OK(cuCtxSetCurrent(contexts[i]));
		FAILS(cuStreamSynchronize(NULL), CUDA_ERROR_LAUNCH_FAILED);
	}
	OK(cuLogsUnregisterCallback(handle));
	FAILS(cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	CUdeviceptr items;

	use_device(0);
	items = write_items();
	exchange(counted_bytes(items));
	TRUE(strstr(logged, "rank 0 sends 64 bytes to rank 1, which expects 0"));
	TRUE(strstr(logged, "8 bytes that count_items should have written"));
	TRUE(strstr(logged, "--kernels"));
	return 0;
}
