/* SPDX-License-Identifier: Apache-2.0 */

/* graphs        captures one stream in the strictest mode while another stream copies; both are
 * recorded. The recorder's own work during the capture must neither invalidate the capture nor
 * be captured.
 * graphs added  adds a node to the graph of a capture in progress, after the last captured one. */
#include "tests/emugpu/check_driver.h"

#include <string.h>
#include <time.h>

#define COPIES 200
#define BYTES 4096

/* Long enough for the library's thread to query the times of earlier launches. */
static void wait_for_library_thread(void)
{
	struct timespec nap = {.tv_nsec = 5000000};

	nanosleep(&nap, NULL);
}

static void add_node(CUstream stream, CUdeviceptr at)
{
	CUDA_MEMSET_NODE_PARAMS fill = {
		.dst = at, .value = 5, .elementSize = 1, .width = BYTES / 2, .height = 1};
	CUstreamCaptureStatus status;
	const CUgraphNode *last;
	CUgraphNode node;
	CUcontext context;
	CUgraph graph;
	size_t n;

	OK(cuCtxGetCurrent(&context));
	OK(cuStreamGetCaptureInfo(stream, &status, NULL, &graph, &last, NULL, &n));
	TRUE(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && n == 1);
	OK(cuGraphAddMemsetNode(&node, graph, last, n, &fill, context));
	OK(cuStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
					     CU_STREAM_SET_CAPTURE_DEPENDENCIES));
}

static int run_added(void)
{
	CUgraphExec exec;
	CUstream stream;
	CUdeviceptr at;
	CUgraph graph;

	use_device(0);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&at, 2 * BYTES));
	OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemsetD8Async(at, 3, BYTES, stream));
	add_node(stream, at);
	OK(cuMemcpyDtoDAsync(at + BYTES, at, BYTES, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuCtxSynchronize());
	return 0;
}

int main(int argc, char **argv)
{
	CUstream captured, other;
	CUgraphExec exec;
	CUdeviceptr at;
	CUgraph graph;
	size_t nodes;
	void *host;

	if (argc > 1 && strcmp(argv[1], "added") == 0)
		return run_added();
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
