/* SPDX-License-Identifier: Apache-2.0 */

/* A program as nvcc compiles it with -cudart shared: kernels, variables, streams, events,
 * errors. */
#include <gpuemu.h>
#include "tests/emugpu/check.h"

#include <cstring>
#include <thread>
#include <vector>

__global__ void saxpy(int n, float a, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}

static void saxpy_host(int n, float a, const float *x, float *y)
{
	for (int i = 0; i < n; i++)
		y[i] += a * x[i];
}
GPUEMU_HOST_KERNEL(saxpy, saxpy_host)

template <class T> __global__ void scale(T *x, T a, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		x[i] *= a;
}

template <class T> static void scale_host(T *x, T a, int n)
{
	for (int i = 0; i < n; i++)
		x[i] *= a;
}
GPUEMU_HOST_KERNEL(scale<double>, scale_host<double>)
GPUEMU_HOST_KERNEL(scale<float>, scale_host<float>)

struct block {
	float *at;
	char tag;
	double values[3];
};

__global__ void store(block b, short index)
{
	b.at[index] = (float)b.values[index];
}

static void store_host(block b, short index)
{
	b.at[index] = (float)b.values[index];
}
GPUEMU_HOST_KERNEL(store, store_host)

__device__ float table[16] = {1, 2, 3};
__constant__ int constant = 7;
__managed__ int managed = 5;

static void test_variables()
{
	float t[16];
	int c;
	size_t bytes;

	OK(cudaMemcpyFromSymbol(t, table, sizeof(t)));
	TRUE(t[0] == 1 && t[2] == 3 && t[3] == 0);
	OK(cudaMemcpyFromSymbol(&c, constant, sizeof(c)));
	TRUE(c == 7);
	c = 9;
	OK(cudaMemcpyToSymbol(constant, &c, sizeof(c)));
	c = 0;
	OK(cudaMemcpyFromSymbol(&c, constant, sizeof(c)));
	TRUE(c == 9);
	OK(cudaGetSymbolSize(&bytes, table));
	TRUE(bytes == sizeof(table));
	FAILS(cudaMemcpyFromSymbol(t, table, 65), cudaErrorInvalidValue);
	FAILS(cudaGetSymbolSize(&bytes, &bytes), cudaErrorInvalidSymbol);
	managed++;
	TRUE(managed == 6);
}

static void test_launches()
{
	std::vector<float> x(1000, 2), y(1000, 1);
	float *dx, *dy;
	double *d;

	OK(cudaMalloc(&dx, 4000));
	OK(cudaMalloc(&dy, 4000));
	OK(cudaMemcpy(dx, x.data(), 4000, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(dy, y.data(), 4000, cudaMemcpyHostToDevice));
	saxpy<<<4, 256>>>(1000, 3.f, dx, dy);
	OK(cudaGetLastError());
	OK(cudaMemcpy(y.data(), dy, 4000, cudaMemcpyDeviceToHost));
	TRUE(y[0] == 7 && y[999] == 7);

	OK(cudaMallocManaged(&d, 8 * sizeof(*d)));
	d[3] = 1.5;
	scale<<<1, 32>>>(d, 4.0, 8);
	scale<<<1, 32>>>(dy, 2.0f, 1000);
	OK(cudaDeviceSynchronize());
	TRUE(d[3] == 6);

	block b = {dx, 'b', {10, 20, 30}};

	store<<<1, 1>>>(b, 2);
	OK(cudaMemcpy(x.data(), dx, 12, cudaMemcpyDeviceToHost));
	TRUE(x[2] == 30 && x[1] == 2);

	saxpy<<<1, 2048>>>(1000, 3.f, dx, dy);
	TRUE(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
	TRUE(cudaGetLastError() == cudaErrorInvalidConfiguration);
	TRUE(cudaGetLastError() == cudaSuccess);

	size_t offset, bytes;
	cudaFuncAttributes attributes;

	OK(cudaFuncGetParamInfo((const void *)store, 0, &offset, &bytes));
	TRUE(offset == 0 && bytes == sizeof(block));
	OK(cudaFuncGetParamInfo((const void *)store, 1, &offset, &bytes));
	TRUE(offset == sizeof(block) && bytes == sizeof(short));
	FAILS(cudaFuncGetParamInfo((const void *)store, 2, &offset, &bytes), cudaErrorInvalidValue);
	OK(cudaFuncGetAttributes(&attributes, (const void *)saxpy));
	TRUE(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0);
	FAILS(cudaFuncGetAttributes(&attributes, (const void *)"no kernel, but memory to read"),
	      cudaErrorInvalidDeviceFunction);
	OK(cudaFree(dx));
	OK(cudaFree(dy));
	OK(cudaFree(d));
	FAILS(cudaFree(dx), cudaErrorInvalidValue);
}

/* A kernel without a cost function counts as 12 bytes of traffic a thread: 2^30 threads take
 * milliseconds. */
__global__ void idle()
{
}

static void idle_host()
{
}
GPUEMU_HOST_KERNEL(idle, idle_host)

/* Device time is virtual: the test's real duration does not matter. */
static void test_time()
{
	cudaStream_t a, b;
	cudaEvent_t from, mid, to;
	float both, one;

	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	OK(cudaEventCreate(&from));
	OK(cudaEventCreate(&mid));
	OK(cudaEventCreate(&to));
	FAILS(cudaEventElapsedTime(&one, from, to), cudaErrorInvalidResourceHandle);
	OK(cudaEventRecord(from, a));
	OK(cudaStreamWaitEvent(b, from));
	idle<<<1 << 20, 1024, 0, a>>>();
	OK(cudaEventRecord(mid, a));
	idle<<<1 << 20, 1024, 0, b>>>();
	OK(cudaStreamWaitEvent(b, mid));
	OK(cudaEventRecord(to, b));
	FAILS(cudaEventQuery(to), cudaErrorNotReady);
	FAILS(cudaStreamQuery(b), cudaErrorNotReady);
	OK(cudaEventSynchronize(to));
	OK(cudaEventQuery(mid));
	OK(cudaEventElapsedTime(&one, from, mid));
	OK(cudaEventElapsedTime(&both, from, to));
	/* Each kernel fills the GPU, so they run one after the other. */
	TRUE(one > 2 && one < 20);
	TRUE(both > 1.8f * one && both < 2.2f * one);
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
	OK(cudaEventDestroy(from));
	OK(cudaEventDestroy(mid));
	OK(cudaEventDestroy(to));
}

static void test_pool()
{
	cudaStream_t s;
	cudaMemPool_t pool;
	unsigned long long used, before;
	void *p;

	OK(cudaStreamCreate(&s));
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &before));
	OK(cudaMallocAsync(&p, 1 << 20, s));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	TRUE(used - before == 1 << 20);
	OK(cudaMemsetAsync(p, 1, 1 << 20, s));
	OK(cudaFreeAsync(p, s));
	OK(cudaStreamSynchronize(s));
	OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	TRUE(used == before);
	OK(cudaStreamDestroy(s));
}

static void test_attributes()
{
	cudaDeviceProp p;
	cudaPointerAttributes a;
	int sms, value, device;
	void *on_device, *pinned;
	size_t free_bytes, total;

	OK(cudaGetDeviceProperties(&p, 0));
	OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	TRUE(p.multiProcessorCount == sms && p.warpSize == 32 && strlen(p.name) > 3);
	OK(cudaMemGetInfo(&free_bytes, &total));
	TRUE(total == p.totalGlobalMem && free_bytes < total);
	TRUE(p.maxTexture1DLayered[0] == 32768 && p.maxTexture1DLayered[1] == 2048);
	TRUE(p.maxTexture2DLayered[0] == 32768 && p.maxTexture2DLayered[2] == 2048);
	FAILS(cudaMalloc(&on_device, total), cudaErrorMemoryAllocation);
	OK(cudaMalloc(&on_device, 100));
	OK(cudaMallocHost(&pinned, 100));
	OK(cudaPointerGetAttributes(&a, on_device));
	TRUE(a.type == cudaMemoryTypeDevice && a.device == 0);
	OK(cudaPointerGetAttributes(&a, pinned));
	TRUE(a.type == cudaMemoryTypeHost);
	OK(cudaPointerGetAttributes(&a, &a));
	TRUE(a.type == cudaMemoryTypeUnregistered);
	FAILS(cudaGetDeviceProperties(&p, 999), cudaErrorInvalidDevice);
	FAILS(cudaSetDevice(-1), cudaErrorInvalidDevice);
	OK(cudaDriverGetVersion(&value));
	TRUE(value >= 13000);
	OK(cudaGetDevice(&device));
	TRUE(device == 0);
	OK(cudaFree(on_device));
	OK(cudaFreeHost(pinned));
}

/* Each thread has its own current device, per-thread default stream, and last error. */
static void test_threads()
{
	int count;

	OK(cudaGetDeviceCount(&count));
	FAILS(cudaSetDevice(count), cudaErrorInvalidDevice);
	cudaSetDevice(count);
	std::vector<std::thread> threads;
	for (int i = 0; i < count; i++)
		threads.emplace_back([i] {
			float *x, y[4] = {1, 2, 3, 4};

			TRUE(cudaPeekAtLastError() == cudaSuccess);
			OK(cudaSetDevice(i));
			OK(cudaMalloc(&x, 16));
			OK(cudaMemcpyAsync(x, y, 16, cudaMemcpyHostToDevice, cudaStreamPerThread));
			scale<<<1, 4, 0, cudaStreamPerThread>>>(x, (float)i + 1, 4);
			OK(cudaMemcpyAsync(y, x, 16, cudaMemcpyDeviceToHost, cudaStreamPerThread));
			OK(cudaStreamSynchronize(cudaStreamPerThread));
			TRUE(y[3] == 4 * (i + 1));
			cudaPointerAttributes a;
			OK(cudaPointerGetAttributes(&a, x));
			TRUE(a.device == i);
		});
	for (auto &t : threads)
		t.join();
	TRUE(cudaGetLastError() == cudaErrorInvalidDevice);
}

int main()
{
	test_variables();
	test_launches();
	test_time();
	test_pool();
	test_attributes();
	test_threads();
	return 0;
}
