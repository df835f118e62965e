/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs that allocate memory; with `pageable`, one that copies pageable memory; with
 * `conditional`, one with a conditional node. Prints the sum of its results. With -DPLUGIN only the
 * host kernels.
 */
#include "axpy.cuh"
#include "check.h"
#include <gpuemu.h>

#define N 4096
#define BYTES (N * sizeof(float))

#ifndef PLUGIN
static cudaStream_t stream;
static float *x, *y;

static void launch(float a, const float *from, float *to)
{
	axpy<<<N / 256, 256, 0, stream>>>(N, a, from, to);
}

/* Ends the capture; launches the graph `n` times. */
static void launch_captured(int n)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CUDA(cudaStreamEndCapture(stream, &graph));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	CUDA(cudaGraphDestroy(graph));
	while (n-- > 0)
		CUDA(cudaGraphLaunch(exec, stream));
	CUDA(cudaStreamSynchronize(stream));
	CUDA(cudaGraphExecDestroy(exec));
}

/* Memory that a captured graph allocates and frees. */
static void own_memory()
{
	float *own;

	CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CUDA(cudaMallocAsync(&own, BYTES, stream));
	CUDA(cudaMemcpyAsync(own, x, BYTES, cudaMemcpyDeviceToDevice, stream));
	launch(1, own, y);
	CUDA(cudaFreeAsync(own, stream));
	launch_captured(2);
}

/* Returns a graph that copies x to memory of its own, which launches leave allocated. */
static cudaGraphExec_t graph_that_keeps(int device, float **ret)
{
	cudaMemAllocNodeParams memory = {};
	cudaGraphNode_t made, copy;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	memory.poolProps.allocType = cudaMemAllocationTypePinned;
	memory.poolProps.location.type = cudaMemLocationTypeDevice;
	memory.poolProps.location.id = device;
	memory.bytesize = BYTES;
	CUDA(cudaGraphCreate(&graph, 0));
	CUDA(cudaGraphAddMemAllocNode(&made, graph, NULL, 0, &memory));
	*ret = (float *)memory.dptr;
	CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &made, 1, *ret, x, BYTES,
				      cudaMemcpyDeviceToDevice));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	CUDA(cudaGraphDestroy(graph));
	return exec;
}

static cudaGraphExec_t graph_that_frees(float *memory)
{
	cudaGraphNodeParams freeing = {};
	cudaGraphNode_t made;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	freeing.type = cudaGraphNodeTypeMemFree;
	freeing.free.dptr = memory;
	CUDA(cudaGraphCreate(&graph, 0));
	CUDA(cudaGraphAddNode(&made, graph, NULL, NULL, 0, &freeing));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	CUDA(cudaGraphDestroy(graph));
	return exec;
}

/* Memory of a graph that the stream, the host and another graph free. */
static void kept_memory(int device)
{
	float *kept;
	cudaGraphExec_t exec = graph_that_keeps(device, &kept), last = graph_that_frees(kept);

	for (int i = 0; i < 3; i++) {
		CUDA(cudaGraphLaunch(exec, stream));
		launch(1, kept, y);
		if (i == 0)
			CUDA(cudaFreeAsync(kept, stream));
		else if (i == 1)
			CUDA(cudaFree(kept));
		else
			CUDA(cudaGraphLaunch(last, stream));
	}
	CUDA(cudaStreamSynchronize(stream));
	CUDA(cudaGraphExecDestroy(last));
	CUDA(cudaGraphExecDestroy(exec));
}

/* Adds x to y if the condition is set, as it is by default. */
static void conditional()
{
	int n = N;
	float a = 2, sum;
	const float *from = x;
	void *arguments[] = {&n, &a, &from, &y};
	cudaKernelNodeParams kernel = {(void *)axpy, N / 256, 256, 0, arguments, NULL};
	cudaGraphNodeParams p = {};
	cudaGraphNode_t node;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	p.type = cudaGraphNodeTypeConditional;
	p.conditional.size = 1;
	CUDA(cudaGraphCreate(&graph, 0));
	CUDA(cudaGraphConditionalHandleCreate(&p.conditional.handle, graph, 1,
					      cudaGraphCondAssignDefault));
	CUDA(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p));
	CUDA(cudaGraphAddKernelNode(&node, p.conditional.phGraph_out[0], NULL, 0, &kernel));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	CUDA(cudaGraphLaunch(exec, stream));
	CUDA(cudaStreamSynchronize(stream));
	CUDA(cudaMemcpy(&sum, y + 1, sizeof(sum), cudaMemcpyDeviceToHost));
	printf("%.0f\n", sum);
}

/* A node of the program that copies pageable memory. */
static void copy_pageable()
{
	static float host[N] = {7};
	cudaGraphNode_t copy;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CUDA(cudaGraphCreate(&graph, 0));
	CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, x, host, BYTES,
				      cudaMemcpyHostToDevice));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	CUDA(cudaGraphLaunch(exec, stream));
	launch(1, x, y);
	CUDA(cudaStreamSynchronize(stream));
}

static void add_one(void *host)
{
	++*(float *)host;
}

/* A function of the host changes memory that the graph copies; the next launch reads it. */
static void copy_of_host()
{
	float *host;

	CUDA(cudaMallocHost(&host, BYTES));
	CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CUDA(cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, stream));
	CUDA(cudaLaunchHostFunc(stream, add_one, host));
	launch(1, x, y);
	launch_captured(2);
	launch(1, x, y);
	CUDA(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
	static float host[N];
	double sum = 0;
	int gpus = device_count();

	for (int i = 0; i < N; i++)
		host[i] = (float)(i % 7);
	for (int d = 0; d < gpus; d++) {
		CUDA(cudaSetDevice(d));
		CUDA(cudaStreamCreate(&stream));
		CUDA(cudaMalloc(&x, BYTES));
		CUDA(cudaMalloc(&y, BYTES));
		CUDA(cudaMemcpy(x, host, BYTES, cudaMemcpyHostToDevice));
		CUDA(cudaMemset(y, 0, BYTES));
		if (argc > 1) {
			if (strcmp(argv[1], "pageable") == 0)
				copy_pageable();
			else if (strcmp(argv[1], "host") == 0)
				copy_of_host();
			else
				conditional();
			return 0;
		}
		own_memory();
		kept_memory(d);
		CUDA(cudaMemcpy(host, y, BYTES, cudaMemcpyDeviceToHost));
		for (int i = 0; i < N; i++)
			sum += host[i];
	}
	printf("%.0f\n", sum);
	return 0;
}
#endif
