/* SPDX-License-Identifier: Apache-2.0 */

/* graphs: captures one stream, in the mode that forbids most, while another one copies; both are
 * recorded. What the recorder does meanwhile must not spoil the capture, nor become a part of it.
 */
#include "tests/emugpu/check_driver.h"

#include <time.h>

#define COPIES 200
#define BYTES 4096

/* Long enough for the library's thread to look for the times of what was launched. */
static void look_away(void)
{
	struct timespec nap = {.tv_nsec = 5000000};

	nanosleep(&nap, NULL);
}

int main(void)
{
	CUstream captured, other;
	CUcontext context;
	CUgraphExec exec;
	CUdeviceptr at;
	CUgraph graph;
	size_t nodes;
	void *host;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&at, 2 * BYTES));
	OK(cuMemHostAlloc(&host, BYTES, 0));
	OK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < COPIES; i++) {
		OK(cuMemsetD8Async(at, (unsigned char)i, BYTES, captured));
		OK(cuMemcpyHtoDAsync(at + BYTES, host, BYTES, other));
	}
	look_away();
	OK(cuStreamEndCapture(captured, &graph));
	OK(cuGraphGetNodes(graph, NULL, &nodes));
	TRUE(nodes == COPIES);
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, captured));
	OK(cuCtxSynchronize());
	return 0;
}
