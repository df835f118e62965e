// SPDX-License-Identifier: Apache-2.0

// Small versions of NVIDIA's public CUDA samples, most kernels with their host kernels: sums of
// vectors on streams, a reduction, a cooperative launch, memory of two GPUs, managed memory, and
// memory, pools and events shared between processes; speeds of kernels without host kernels.
#include "tests/emugpu/check.h"
#include <gpuemu.h>

#include <cooperative_groups.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static const int N = 1 << 16, BLOCK = 256, BLOCKS = N / BLOCK;

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

static void vector_add_host(const float *a, const float *b, float *c, int n)
{
	for (int i = 0; i < n; i++)
		c[i] = a[i] + b[i];
}
GPUEMU_HOST_KERNEL(vector_add, vector_add_host)

// One sum for each of `blocks` blocks.
__global__ void block_sums(const float *in, float *out, int blocks)
{
	__shared__ float part[BLOCK];

	part[threadIdx.x] = in[blockIdx.x * BLOCK + threadIdx.x];
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
	}
	if (threadIdx.x == 0 && blockIdx.x < blocks)
		out[blockIdx.x] = part[0];
}

static void block_sums_host(const float *in, float *out, int blocks)
{
	for (int b = 0; b < blocks; b++) {
		float sum = 0;

		for (int i = 0; i < BLOCK; i++)
			sum += in[b * BLOCK + i];
		out[b] = sum;
	}
}
GPUEMU_HOST_KERNEL(block_sums, block_sums_host)

__global__ void whole_sum(const float *in, float *out, int n)
{
	cooperative_groups::this_grid().sync();
	if (blockIdx.x == 0 && threadIdx.x == 0)
		for (int i = 0; i < n; i++)
			out[0] += in[i];
}

static void whole_sum_host(const float *in, float *out, int n)
{
	for (int i = 0; i < n; i++)
		out[0] += in[i];
}
GPUEMU_HOST_KERNEL(whole_sum, whole_sum_host)

static float *device_ones(int n)
{
	std::vector<float> ones(n, 1.0f);
	float *at;

	OK(cudaMalloc(&at, n * sizeof(float)));
	OK(cudaMemcpy(at, ones.data(), n * sizeof(float), cudaMemcpyHostToDevice));
	return at;
}

static float first_of(const float *at)
{
	float value;

	OK(cudaMemcpy(&value, at, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

static void test_streams()
{
	const int streams = 4, part = N / streams;
	float *a = device_ones(N), *b = device_ones(N), *c, *host;
	cudaStream_t s[streams];

	OK(cudaMalloc(&c, N * sizeof(float)));
	OK(cudaMallocHost(&host, N * sizeof(float)));
	for (int i = 0; i < streams; i++) {
		OK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
		vector_add<<<part / BLOCK, BLOCK, 0, s[i]>>>(a + i * part, b + i * part,
							     c + i * part, part);
		OK(cudaMemcpyAsync(host + i * part, c + i * part, part * sizeof(float),
				   cudaMemcpyDeviceToHost, s[i]));
	}
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < N; i++)
		TRUE(host[i] == 2);
	for (int i = 0; i < streams; i++)
		OK(cudaStreamDestroy(s[i]));
	OK(cudaFreeHost(host));
	OK(cudaFree(a));
	OK(cudaFree(b));
	OK(cudaFree(c));
}

static void test_sums()
{
	float *in = device_ones(N), *part = device_ones(BLOCKS), *out = device_ones(1);
	int n = N;
	void *args[] = {&in, &out, &n};

	block_sums<<<BLOCKS, BLOCK>>>(in, part, BLOCKS);
	block_sums<<<1, BLOCK>>>(part, out, 1);
	TRUE(first_of(out) == N);
	OK(cudaLaunchCooperativeKernel((const void *)whole_sum, dim3(2), dim3(32), args, 0, 0));
	TRUE(first_of(out) == 2 * N);
	OK(cudaFree(in));
	OK(cudaFree(part));
	OK(cudaFree(out));
}

static void test_two_gpus()
{
	float *here = device_ones(N), *there;
	int can = 0;

	OK(cudaDeviceCanAccessPeer(&can, 0, 1));
	TRUE(can);
	OK(cudaSetDevice(1));
	OK(cudaMalloc(&there, N * sizeof(float)));
	OK(cudaMemcpyPeer(there, 1, here, 0, N * sizeof(float)));
	OK(cudaSetDevice(0));
	OK(cudaDeviceEnablePeerAccess(1, 0));
	vector_add<<<BLOCKS, BLOCK>>>(here, there, there, N);
	TRUE(first_of(there) == 2);
	OK(cudaDeviceDisablePeerAccess(1));
	OK(cudaFree(there));
	OK(cudaFree(here));
}

static void test_managed()
{
	float *a;

	OK(cudaMallocManaged(&a, N * sizeof(float)));
	for (int i = 0; i < N; i++)
		a[i] = 1;
	vector_add<<<BLOCKS, BLOCK>>>(a, a, a, N);
	OK(cudaDeviceSynchronize());
	TRUE(a[0] == 2 && a[N - 1] == 2);
	OK(cudaFree(a));
}

struct letter {
	cudaIpcMemHandle_t memory;
	cudaIpcEventHandle_t event;
	int exporter, pools[2]; // descriptors of the exporter
	cudaMemPoolPtrExportData pooled[2];
};

// The other process adds the memory of the second pool to that of the first one.
static void use_pools(const struct letter *letter)
{
	const cudaMemAllocationHandleType type = cudaMemHandleTypePosixFileDescriptor;
	cudaMemPool_t pools[2];
	float *at[2];

	for (int i = 0; i < 2; i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", letter->exporter, letter->pools[i]);
		fd = open(path, O_RDWR | O_CLOEXEC);
		TRUE(fd >= 0);
		OK(cudaMemPoolImportFromShareableHandle(&pools[i], (void *)(intptr_t)fd, type, 0));
		close(fd);
		FAILS(cudaMallocFromPoolAsync((void **)&at[i], 4, pools[i], 0),
		      cudaErrorInvalidValue);
		FAILS(cudaMemPoolImportPointer((void **)&at[i], pools[i],
					       (cudaMemPoolPtrExportData *)&letter->pooled[1 - i]),
		      cudaErrorInvalidValue);
		OK(cudaMemPoolImportPointer((void **)&at[i], pools[i],
					    (cudaMemPoolPtrExportData *)&letter->pooled[i]));
	}
	vector_add<<<BLOCKS, BLOCK>>>(at[0], at[1], at[0], N);
	for (int i = 0; i < 2; i++)
		OK(cudaFreeAsync(at[i], 0));
	OK(cudaDeviceSynchronize());
	FAILS(cudaFreeAsync(at[0], 0), cudaErrorInvalidValue);
	cudaGetLastError();
	for (int i = 0; i < 2; i++)
		OK(cudaMemPoolDestroy(pools[i]));
}

static void make_pools(struct letter *letter, cudaMemPool_t *pools, float **at)
{
	const cudaMemAllocationHandleType type = cudaMemHandleTypePosixFileDescriptor;
	cudaMemPoolProps props = {};

	letter->exporter = getpid();
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	for (int i = 0; i < 2; i++) {
		OK(cudaMemPoolCreate(&pools[i], &props));
		FAILS(cudaMemPoolExportToShareableHandle(&letter->pools[i], pools[i], type, 0),
		      cudaErrorInvalidValue); // it was created without handles
		OK(cudaMemPoolDestroy(pools[i]));
		props.handleTypes = type;
		OK(cudaMemPoolCreate(&pools[i], &props));
		props.handleTypes = cudaMemHandleTypeNone;
		OK(cudaMallocFromPoolAsync((void **)&at[i], N * sizeof(float), pools[i], 0));
		OK(cudaMemcpy(at[i], std::vector<float>(N, i + 1.0f).data(), N * sizeof(float),
			      cudaMemcpyHostToDevice));
		OK(cudaMemPoolExportToShareableHandle(&letter->pools[i], pools[i], type, 0));
		OK(cudaMemPoolExportPointer(&letter->pooled[i], at[i]));
	}
}

// The other process waits for the event and doubles the buffer in place.
static int other_process(int in, int out)
{
	struct letter letter;
	cudaEvent_t event;
	float *at;

	TRUE(read(in, &letter, sizeof(letter)) == sizeof(letter));
	OK(cudaIpcOpenMemHandle((void **)&at, letter.memory, cudaIpcMemLazyEnablePeerAccess));
	OK(cudaIpcOpenEventHandle(&event, letter.event));
	OK(cudaStreamWaitEvent(0, event, 0));
	vector_add<<<BLOCKS, BLOCK>>>(at, at, at, N);
	use_pools(&letter);
	OK(cudaIpcCloseMemHandle(at));
	OK(cudaEventDestroy(event));
	return write(out, "", 1) == 1 ? 0 : 1;
}

static void test_processes(pid_t child, int in, int out)
{
	float *at = device_ones(N);
	struct letter letter;
	cudaMemPool_t pools[2];
	float *pooled[2];
	cudaEvent_t event;
	char done;
	int status;

	OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
	vector_add<<<BLOCKS, BLOCK>>>(at, at, at, N);
	OK(cudaEventRecord(event));
	OK(cudaIpcGetMemHandle(&letter.memory, at));
	OK(cudaIpcGetEventHandle(&letter.event, event));
	make_pools(&letter, pools, pooled);
	TRUE(write(out, &letter, sizeof(letter)) == sizeof(letter));
	TRUE(read(in, &done, 1) == 1);
	TRUE(first_of(at) == 4);
	TRUE(first_of(pooled[0]) == 3);
	TRUE(waitpid(child, &status, 0) == child && status == 0);
	for (int i = 0; i < 2; i++) {
		OK(cudaFreeAsync(pooled[i], 0));
		OK(cudaMemPoolDestroy(pools[i]));
		close(letter.pools[i]);
	}
	OK(cudaEventDestroy(event));
	OK(cudaFree(at));
}

// Kernels without host kernels: their parameters say how much they access.

__global__ void copy_vectors(float4 *to, const float4 *from)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[i];
}

__global__ void sum_in_a_loop(const float *in, float *out, unsigned n)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[threadIdx.x] += in[i];
}

template <int SIDE> __global__ void matrixMul(float *c, float *a, float *b, int width)
{
	c[threadIdx.x] = a[SIDE] * b[width];
}

template <typename F> static double seconds_of(F launch)
{
	cudaEvent_t begin, end;
	float ms;

	OK(cudaEventCreate(&begin));
	OK(cudaEventCreate(&end));
	OK(cudaEventRecord(begin));
	launch();
	OK(cudaGetLastError());
	OK(cudaEventRecord(end));
	OK(cudaEventSynchronize(end));
	OK(cudaEventElapsedTime(&ms, begin, end));
	OK(cudaEventDestroy(begin));
	OK(cudaEventDestroy(end));
	return ms * 1e-3;
}

// No kernel is faster than the hardware, nor ten times slower than it: an H200 has 4.8 TB/s, 67
// TFLOP/s and NVLinks of 450 GB/s.
static void possible_speeds()
{
	const int n = 1 << 24, side = 4096;
	const double bytes = n * 4.0, peak = 4.8e12, link = 450e9;
	const double operations = 2.0 * side * side * side;
	float *a, *b, *c, *peer;
	double s, staged;

	for (float **at : {&a, &b, &c})
		OK(cudaMalloc(at, n * sizeof(float)));
	OK(cudaSetDevice(1));
	OK(cudaMalloc(&peer, n * sizeof(float)));
	OK(cudaSetDevice(0));
	s = seconds_of([&] { copy_vectors<<<n / 4 / BLOCK, BLOCK>>>((float4 *)a, (float4 *)b); });
	TRUE(s > 2 * bytes / peak && s < 20 * bytes / peak);
	s = seconds_of([&] { sum_in_a_loop<<<64, BLOCK>>>(a, b, n); });
	TRUE(s > bytes / peak && s < 20 * bytes / peak);
	s = seconds_of([&] { sum_in_a_loop<<<64, BLOCK>>>(a, b, 1000); });
	TRUE(s < 1e-5);
	s = seconds_of([&] { matrixMul<32><<<dim3(128, 128), dim3(32, 32)>>>(a, b, c, side); });
	TRUE(s > operations / 67e12 && s < 10 * operations / 67e12);
	staged = seconds_of([&] { cudaMemcpyPeerAsync(a, 0, peer, 1, 16, 0); });
	OK(cudaDeviceEnablePeerAccess(1, 0));
	TRUE(seconds_of([&] { cudaMemcpyPeerAsync(a, 0, peer, 1, 16, 0); }) < staged);
	s = seconds_of(
		[&] { copy_vectors<<<n / 4 / BLOCK, BLOCK>>>((float4 *)a, (float4 *)peer); });
	TRUE(s > bytes / link && s < 10 * bytes / link);
}

static void blocks_that_do_not_fit()
{
	cudaDeviceProp device;
	float *memory;
	int n = N, blocks;

	OK(cudaGetDeviceProperties(&device, 0));
	OK(cudaMalloc(&memory, N * sizeof(float)));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, whole_sum, BLOCK, 0));
	void *args[] = {&memory, &memory, &n};
	blocks *= device.multiProcessorCount;
	OK(cudaLaunchCooperativeKernel((void *)whole_sum, dim3(blocks), dim3(BLOCK), args, 0, 0));
	TRUE(cudaLaunchCooperativeKernel((void *)whole_sum, dim3(blocks + 1), dim3(BLOCK), args, 0,
					 0) == cudaErrorCooperativeLaunchTooLarge);
	TRUE(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
}

int main()
{
	int there[2], back[2];
	pid_t child;

	TRUE(pipe(there) == 0 && pipe(back) == 0);
	child = fork(); // before either process has initialised CUDA
	if (child == 0)
		return other_process(there[0], back[1]);
	test_streams();
	test_sums();
	test_two_gpus();
	test_managed();
	possible_speeds();
	blocks_that_do_not_fit();
	test_processes(child, back[0], there[1]);
	return 0;
}
