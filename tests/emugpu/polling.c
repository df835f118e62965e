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

int main(void)
{
	CUcontext context;

	OK(cuInit(0));
	OK(cuCtxCreate(&context, NULL, 0, 0));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, 0));
	poll_work(query_stream);
	poll_work(query_event);
	poll_own(query_stream);
	poll_own(query_event);
	return 0;
}
