/* SPDX-License-Identifier: Apache-2.0 */

/* Prints durations on two GPUs, one a line: name, bytes, milliseconds between events.
 *
 *     emugpu_durations [FLOATS]      size of an additional all-reduce
 */
#include "tests/emugpu/check_driver.h"

#include <nccl.h>
#include <sys/mman.h>

enum { MIB = 1 << 20, BYTES = 8 * MIB, MEMORY = 32 * MIB };

static CUcontext contexts[2];
static CUstream streams[2];
static CUdeviceptr memory[2];
static CUevent before, after;

static void set_up(void)
{
	CUdevice device;

	OK(cuInit(0));
	for (int i = 2; i-- > 0;) {
		OK(cuDeviceGet(&device, i));
		OK(cuDevicePrimaryCtxRetain(&contexts[i], device));
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		OK(cuMemAlloc(&memory[i], MEMORY));
	}
	OK(cuEventCreate(&before, 0));
	OK(cuEventCreate(&after, 0));
}

static void begin_timing(void)
{
	OK(cuStreamSynchronize(streams[0]));
	OK(cuEventRecord(before, streams[0]));
}

static void end_timing(const char *name, size_t bytes)
{
	float ms;

	OK(cuEventRecord(after, streams[0]));
	OK(cuEventSynchronize(after));
	OK(cuEventElapsedTime(&ms, before, after));
	printf("%s\t%zu\t%.3f\n", name, bytes, ms);
}

static void copies_in(const char *name, const void *from, size_t bytes)
{
	begin_timing();
	OK(cuMemcpyHtoDAsync(memory[0], from, bytes, streams[0]));
	end_timing(name, bytes);
}

static void copies_out(const char *name, void *to)
{
	begin_timing();
	OK(cuMemcpyDtoHAsync(to, memory[0], BYTES, streams[0]));
	end_timing(name, BYTES);
}

static void all_reduces(size_t n)
{
	ncclComm_t comms[2];

	NCCL(ncclCommInitAll(comms, 2, NULL));
	for (int turn = 0; turn < 2; turn++) {
		begin_timing();
		NCCL(ncclGroupStart());
		for (int i = 0; i < 2; i++)
			NCCL(ncclAllReduce((void *)memory[i], (void *)memory[i], n, ncclFloat32,
					   ncclSum, comms[i], (cudaStream_t)streams[i]));
		NCCL(ncclGroupEnd());
		/* The first all-reduce also loads NCCL's kernels. */
		end_timing(turn ? "all_reduce" : "first all_reduce", 4 * n);
	}
	for (int i = 0; i < 2; i++)
		NCCL(ncclCommDestroy(comms[i]));
}

int main(int argc, char **argv)
{
	void *locked, *fresh;

	set_up();
	OK(cuMemHostAlloc(&locked, BYTES, 0));
	fresh = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	TRUE(fresh != MAP_FAILED && madvise(fresh, BYTES, MADV_NOHUGEPAGE) == 0);
	copies_out("untouched", fresh);
	copies_out("touched", fresh);
	for (size_t mib = 1; mib < 8; mib *= 2)
		copies_in("in", locked, mib * MIB);
	copies_in("pageable in", fresh, MIB);
	all_reduces(1000000);
	all_reduces(argc > 1 ? (size_t)atol(argv[1]) : 900000);
	return 0;
}
