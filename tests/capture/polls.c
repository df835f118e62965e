/* SPDX-License-Identifier: Apache-2.0 */

/* Polls a stream, an event and the current context until the host releases the stream. Then queries
 * the current context ten times without polling. A second thread polls until it ends. Prints how
 * often both threads queried streams and events. */
#include "tests/emugpu/check_driver.h"

#include <pthread.h>
#include <stdint.h>

enum { ROUNDS = 500, REST = 10 };

static CUcontext context;

/* Returns a stream that waits until *gate is 1. */
static CUstream held_stream(CUdeviceptr gate)
{
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
	return stream;
}

static CUdeviceptr make_gate(volatile uint32_t **ret)
{
	CUdeviceptr gate;

	OK(cuMemHostAlloc((void **)ret, 4, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer(&gate, (void *)*ret, 0));
	**ret = 0;
	return gate;
}

static void poll_once(CUstream stream, CUevent event, CUresult expected)
{
	CUcontext current;

	FAILS(cuStreamQuery(stream), expected);
	OK(cuCtxGetCurrent(&current));
	TRUE(current == context);
	FAILS(cuEventQuery(event), expected);
}

static void *poll_to_the_end(void *unused)
{
	volatile uint32_t *host;
	CUevent event;
	CUstream stream;

	OK(cuCtxSetCurrent(context));
	stream = held_stream(make_gate(&host));
	OK(cuEventCreate(&event, 0));
	OK(cuEventRecord(event, stream));
	for (int i = 0; i < ROUNDS; i++)
		poll_once(stream, event, CUDA_ERROR_NOT_READY);
	return NULL;
}

int main(void)
{
	volatile uint32_t *host;
	CUcontext current;
	CUevent event;
	CUstream stream;
	pthread_t thread;

	OK(cuInit(0));
	OK(cuCtxCreate(&context, NULL, 0, 0));
	stream = held_stream(make_gate(&host));
	OK(cuEventCreate(&event, 0));
	OK(cuEventRecord(event, stream));
	for (int i = 0; i < ROUNDS; i++)
		poll_once(stream, event, CUDA_ERROR_NOT_READY);
	*host = 1;
	OK(cuStreamSynchronize(stream));
	poll_once(stream, event, CUDA_SUCCESS);
	for (int i = 0; i < REST; i++)
		OK(cuCtxGetCurrent(&current));
	TRUE(pthread_create(&thread, NULL, poll_to_the_end, NULL) == 0);
	TRUE(pthread_join(thread, NULL) == 0);
	printf("%d\n", 2 * (2 * ROUNDS + 1));
	return 0;
}
