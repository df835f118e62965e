/* SPDX-License-Identifier: Apache-2.0 */

/* graphs: captures one stream in the strictest mode while another stream copies; both are
 * recorded. The recorder's own work during the capture must neither invalidate the capture nor
 * be captured. */
#include "tests/emugpu/check_driver.h"

#include <time.h>

#define COPIES 200
#define BYTES 4096

/* Long enough for the library's thread to query the times of earlier launches. */
static void wait_for_library_thread(void)
{
	struct timespec nap = {.tv_nsec = 5000000};

	nanosleep(&nap, NULL);
}

int main(void)
{
	CUstream captured, other;
	CUgraphExec exec;
	CUdeviceptr at;
	CUgraph graph;
	size_t nodes;
	void *host;

	use_device(0);
	OK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&at, 2 * BYTES));
	OK(cuMemHostAlloc(&host, BYTES, 0));
	OK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < COPIES; i++) {
		OK(cuMemsetD8Async(at, (unsigned char)i, BYTES, captured));
		OK(cuMemcpyHtoDAsync(at + BYTES, host, BYTES, other));
	}
	wait_for_library_thread();
	OK(cuStreamEndCapture(captured, &graph));
	OK(cuGraphGetNodes(graph, NULL, &nodes));
	TRUE(nodes == COPIES);
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, captured));
	OK(cuCtxSynchronize());
	return 0;
}
