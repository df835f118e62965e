/* SPDX-License-Identifier: Apache-2.0 */

/* Threads that poll streams and events leave the processors to emulated work: while the host
 * executes it, a query waits briefly. No query waits for work that its own thread has yet to
 * release. */
#include "tests/emugpu/check_driver.h"

#include <stdint.h>
#include <time.h>

enum { WORK_MS = 100, MOST_QUERIES = 2000 };

static CUstream stream;
static CUevent event;

static void work(void *unused)
{
	struct timespec time = {0, WORK_MS * 1000000};

	nanosleep(&time, NULL);
}

static CUresult query_stream(void)
{
	return cuStreamQuery(stream);
}

static CUresult query_event(void)
{
	return cuEventQuery(event);
}

static void poll_work(CUresult (*query)(void))
{
	CUresult r = CUDA_ERROR_NOT_READY;
	int queries = 0;

	OK(cuLaunchHostFunc(stream, work, NULL));
	OK(cuEventRecord(event, stream));
	while ((r = query()) == CUDA_ERROR_NOT_READY)
		queries++;
	OK(r);
	printf("%d queries in %d ms\n", queries, WORK_MS);
	TRUE(queries > 0 && queries < MOST_QUERIES);
}

/* The polling thread itself releases the stream. */
static void poll_own(CUresult (*query)(void))
{
	uint32_t *gate;
	CUdeviceptr address;

	OK(cuMemHostAlloc((void **)&gate, 4, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer(&address, gate, 0));
	__atomic_store_n(gate, 0, __ATOMIC_RELEASE);
	OK(cuStreamWaitValue32(stream, address, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuEventRecord(event, stream));
	for (int i = 0; i < 100; i++)
		FAILS(query(), CUDA_ERROR_NOT_READY);
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	while (query() == CUDA_ERROR_NOT_READY)
		;
	OK(query());
	OK(cuMemFreeHost(gate));
}

/* A batch of memory operations runs in order. */
static void batch(void)
{
	CUresult (*first_version)(CUstream, unsigned, CUstreamBatchMemOpParams *, unsigned);
	CUstreamBatchMemOpParams ops[4] = {0};
	uint64_t *words;
	CUdeviceptr at;

	OK(cuMemHostAlloc((void **)&words, 16, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer(&at, words, 0));
	__atomic_store_n(&words[0], 0, __ATOMIC_RELEASE);
	words[1] = 0;
	ops[0].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	ops[0].waitValue.address = at;
	ops[0].waitValue.value = 1;
	ops[0].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
	ops[1].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	ops[1].writeValue.address = at + 8;
	ops[1].writeValue.value64 = 5ull << 32;
	ops[2].operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
	ops[2].waitValue.address = at + 8;
	ops[2].waitValue.value64 = 5ull << 32;
	ops[3].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	ops[3].writeValue.address = at + 8;
	ops[3].writeValue.value = 9;
	OK(cuStreamBatchMemOp(stream, 4, ops, 0));
	FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	TRUE(words[1] == 0);
	__atomic_store_n((uint32_t *)words, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(stream));
	TRUE(words[1] == (5ull << 32 | 9));
	/* Programs that were built with an older CUDA ask for the first version. */
	OK(cuGetProcAddress("cuStreamBatchMemOp", (void **)&first_version, 8000, 0, NULL));
	words[1] = 0;
	OK(first_version(stream, 1, &ops[3], 0));
	OK(cuStreamSynchronize(stream));
	TRUE(words[1] == 9);
	ops[0].operation = (CUstreamBatchMemOpType)77;
	FAILS(cuStreamBatchMemOp(stream, 1, ops, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFreeHost(words));
}

int main(void)
{
	CUcontext context;

	OK(cuInit(0));
	OK(cuCtxCreate(&context, NULL, 0, 0));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, 0));
	batch();
	poll_work(query_stream);
	poll_work(query_event);
	poll_own(query_stream);
	poll_own(query_event);
	return 0;
}
