/* SPDX-License-Identifier: Apache-2.0 */

/* Memory at requested addresses, mapped twice, and shared with another process; a killed process
 * takes nothing with it. */
#include "tests/emugpu/check_driver.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE ((size_t)4 << 20)
#define HINTED ((CUdeviceptr)32 << 20) /* a hint is rounded up to a multiple of this */

static void start_driver(CUcontext *context)
{
	CUdevice device;

	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuCtxCreate(context, NULL, 0, device));
}

static void test_wanted_address(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = prop.location,
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle memory;
	CUdeviceptr at, other;
	size_t granule, before, after, total;
	void *hole = mmap(NULL, 16 * HINTED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUdeviceptr wanted = ((CUdeviceptr)hole + 5 * HINTED) / HINTED * HINTED;
	uint32_t word;

	TRUE(hole != MAP_FAILED);
	munmap(hole, 16 * HINTED);
	OK(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	TRUE(PIECE % granule == 0);
	OK(cuMemAddressReserve(&at, 2 * PIECE, 0, wanted, 0));
	TRUE(at == wanted);
	OK(cuMemAddressReserve(&other, PIECE, 0, wanted, 0));
	TRUE(other != wanted);
	OK(cuMemAddressFree(other, PIECE));
	OK(cuMemAddressReserve(&other, PIECE, 0, wanted + 2 * HINTED - PIECE, 0));
	TRUE(other == wanted + 2 * HINTED);
	OK(cuMemGetInfo(&before, &total));
	OK(cuMemCreate(&memory, PIECE, &prop, 0));
	OK(cuMemGetInfo(&after, &total));
	TRUE(before - after == PIECE);
	OK(cuMemMap(at, PIECE, 0, memory, 0));
	FAILS(cuMemMap(at, PIECE, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemMap(at + PIECE, PIECE, 0, memory, 0));
	OK(cuMemSetAccess(at, 2 * PIECE, &access, 1));
	OK(cuMemsetD32(at, 0x1234, PIECE / 4));
	OK(cuMemcpyDtoH(&word, at + 2 * PIECE - 4, 4));
	TRUE(word == 0x1234);
	FAILS(cuMemAddressFree(at, PIECE), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemUnmap(at, 2 * PIECE));
	OK(cuMemRelease(memory));
	OK(cuMemGetInfo(&after, &total));
	TRUE(before == after);
	FAILS(cuMemFree(at), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAddressFree(at, 2 * PIECE));
	OK(cuMemAddressFree(other, PIECE));
	FAILS(cuMemCreate(&memory, total / PIECE * PIECE, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

struct letter {
	CUipcMemHandle memory;
	CUipcEventHandle event;
};

/* The other process: waits for the event, adds one to each word, and waits to be killed. */
static void other_process(int in, int out)
{
	struct letter letter;
	CUipcMemHandle wrong;
	CUcontext context;
	CUdeviceptr at;
	CUevent event;
	uint32_t words[1024];

	start_driver(&context);
	TRUE(read(in, &letter, sizeof(letter)) == sizeof(letter));
	/* A handle of more memory than the file has: see struct handle in ipc.c. */
	wrong = letter.memory;
	memset(wrong.reserved + 24, 0x7f, 8);
	FAILS(cuIpcOpenMemHandle(&at, wrong, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuIpcOpenMemHandle(&at, letter.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	OK(cuIpcOpenEventHandle(&event, letter.event));
	OK(cuStreamWaitEvent(NULL, event, 0));
	OK(cuMemcpyDtoH(words, at, sizeof(words)));
	for (int i = 0; i < 1024; i++)
		words[i]++;
	OK(cuMemcpyHtoD(at, words, sizeof(words)));
	OK(cuEventRecord(event, NULL));
	TRUE(write(out, "x", 1) == 1);
	pause();
}

static void test_two_processes(void)
{
	int there[2], back[2], status;
	struct letter letter;
	CUcontext context;
	CUdeviceptr before, at;
	CUevent event;
	uint32_t words[1024];
	char x;

	TRUE(pipe(there) == 0 && pipe(back) == 0);
	pid_t child = fork();

	if (child == 0) {
		close(there[1]);
		other_process(there[0], back[1]);
		_exit(0);
	}
	start_driver(&context);
	test_wanted_address();
	OK(cuMemAlloc(&before, 512)); /* so that the next one starts in the middle of a page */
	OK(cuMemAlloc(&at, sizeof(words)));
	OK(cuMemsetD32(at, 41, 1024));
	OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	OK(cuIpcGetMemHandle(&letter.memory, at));
	OK(cuIpcGetEventHandle(&letter.event, event));
	FAILS(cuIpcOpenMemHandle(&before, letter.memory, 0), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuEventRecord(event, NULL));
	TRUE(write(there[1], &letter, sizeof(letter)) == sizeof(letter));
	TRUE(read(back[0], &x, 1) == 1);
	OK(cuEventSynchronize(event));
	OK(cuMemcpyDtoH(words, at, sizeof(words)));
	TRUE(words[0] == 42 && words[1023] == 42);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	OK(cuMemsetD32(at, 7, 1024));
	OK(cuMemFree(at));
	OK(cuEventDestroy(event));
	OK(cuCtxDestroy(context));
}

int main(void)
{
	test_two_processes();
	return 0;
}
