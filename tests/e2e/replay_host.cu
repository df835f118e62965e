/* SPDX-License-Identifier: Apache-2.0 */

/* Functions of the host on streams and in a graph. With -DPLUGIN only the host kernels. */
#include "check.h"
#include <gpuemu.h>

#define N 4096
#define BYTES (N * sizeof(float))

__global__ void axpy(int n, float a, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}

static void axpy_host(int n, float a, const float *x, float *y)
{
	for (int i = 0; i < n; i++)
		y[i] += a * x[i];
}
GPUEMU_HOST_KERNEL(axpy, axpy_host)

#ifndef PLUGIN
#include <time.h>

static int calls;

/* `ms` of the first function's data. */
static void CUDART_CB wait_ms(void *ms)
{
	struct timespec t = {0, 1000000L * *(int *)ms};

	nanosleep(&t, NULL);
	calls++;
}

static cudaStream_t stream;

static void CUDART_CB wait_5_ms(cudaStream_t on, cudaError_t status, void *ms)
{
	if (on == stream && status == cudaSuccess)
		wait_ms(ms);
}

static void launch(const float *x, float *y)
{
	axpy<<<(N + 255) / 256, 256, 0, stream>>>(N, 2, x, y);
}

int main()
{
	static int ms[] = {2, 3, 5};
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	float *x, *y;

	CUDA(cudaMalloc(&x, BYTES));
	CUDA(cudaMalloc(&y, BYTES));
	CUDA(cudaMemset(x, 1, BYTES));
	CUDA(cudaMemset(y, 2, BYTES));
	CUDA(cudaStreamCreate(&stream));
	launch(x, y);
	CUDA(cudaLaunchHostFunc(stream, wait_ms, &ms[1]));
	launch(y, x);
	CUDA(cudaStreamAddCallback(stream, wait_5_ms, &ms[2], 0));
	launch(x, y);
	CUDA(cudaStreamSynchronize(stream));

	CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	launch(x, y);
	CUDA(cudaLaunchHostFunc(stream, wait_ms, &ms[0]));
	launch(y, x);
	CUDA(cudaStreamEndCapture(stream, &graph));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CUDA(cudaGraphLaunch(exec, stream));
	CUDA(cudaDeviceSynchronize());
	printf("%d calls\n", calls);
	return 0;
}
#endif
