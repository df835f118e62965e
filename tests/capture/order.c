/* SPDX-License-Identifier: Apache-2.0 */

/* order: one thread records events, another one waits for each in a stream, ordered by nothing but
 * a mutex. The emulated clock of the thread that records is ahead, since it computes before each
 * record, so times do not tell which call came first. */
#include "tests/emugpu/check_driver.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 10

static struct {
	pthread_mutex_t lock;
	CUcontext context;
	CUevent events[EVENTS];
	int recorded; /* that many were recorded */
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int recorded(int more)
{
	int n;

	pthread_mutex_lock(&shared.lock);
	n = shared.recorded += more;
	pthread_mutex_unlock(&shared.lock);
	return n;
}

static void compute(void)
{
	struct timespec at, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	end.tv_nsec += 2000000;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
	while ((at.tv_sec - end.tv_sec) * 1000000000 + at.tv_nsec - end.tv_nsec < 0);
}

static void *wait_for_all(void *unused)
{
	CUstream stream;

	OK(cuCtxSetCurrent(shared.context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < EVENTS; i++) {
		while (recorded(0) <= i)
			usleep(100);
		OK(cuStreamWaitEvent(stream, shared.events[i], 0));
	}
	return unused;
}

int main(void)
{
	pthread_t waiter;
	CUstream stream;
	CUdeviceptr memory;

	shared.context = use_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&memory, 4096));
	for (int i = 0; i < EVENTS; i++)
		OK(cuEventCreate(&shared.events[i], CU_EVENT_DISABLE_TIMING));
	TRUE(pthread_create(&waiter, NULL, wait_for_all, NULL) == 0);
	for (int i = 0; i < EVENTS; i++) {
		compute();
		OK(cuMemsetD8Async(memory, (unsigned char)i, 4096, stream));
		OK(cuEventRecord(shared.events[i], stream));
		recorded(1);
	}
	TRUE(pthread_join(waiter, NULL) == 0);
	OK(cuCtxSynchronize());
	return 0;
}
