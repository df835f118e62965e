/* SPDX-License-Identifier: Apache-2.0 */

/* Uses every kind of memory, copies of rows, events between streams, a captured graph, a host
 * function and copies between GPUs, on each GPU; with `reserved`, only reserved addresses, exported
 * memory and linked code; with `shared`, memory and an event of a process that launches nothing, in
 * two processes that take turns. With -DPLUGIN only the host kernels. */
#include "axpy.cuh"
#include "check.h"
#include <cuda.h>
#include <gpuemu.h>

#include <cstdint>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define N 4096
#define BYTES (N * sizeof(float))

__device__ float table[1024];

/* Pointers within a struct. */
struct pair {
	const float *in;
	float *out;
	int n;
};

__global__ void add_one(struct pair p)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < p.n)
		p.out[i] = p.in[i] + 1;
}

static void add_one_host(struct pair p)
{
	for (int i = 0; i < p.n; i++)
		p.out[i] = p.in[i] + 1;
}
GPUEMU_HOST_KERNEL(add_one, add_one_host)

/* Pointers in memory. */
__global__ void follow(float **list, int n)
{
	for (int i = 0; i < n; i++)
		list[i][0] += 1;
}

static void follow_host(float **list, int n)
{
	for (int i = 0; i < n; i++)
		list[i][0] += 1;
}
GPUEMU_HOST_KERNEL(follow, follow_host)

/* A number beside a gap. */
struct numbered {
	unsigned *out;
	unsigned number, gap;
};

/* Longer than structs whose words are recorded one by one. */
struct long_numbered {
	struct numbered first;
	uint64_t rest[20];
};

__global__ void put_numbers(struct numbered a, struct long_numbered b)
{
	a.out[0] = a.number;
	b.first.out[1] = b.first.number;
}

static void put_numbers_host(struct numbered a, struct long_numbered b)
{
	a.out[0] = a.number;
	b.first.out[1] = b.first.number;
}
GPUEMU_HOST_KERNEL(put_numbers, put_numbers_host)

#ifndef PLUGIN
#define DRIVER(call)                                                                               \
	do {                                                                                       \
		if ((call) != CUDA_SUCCESS)                                                        \
			exit((fprintf(stderr, "failed: %s\n", #call), 1));                         \
	} while (0)

/* The descriptor has the same number for all memory. Frees `memory`. */
static CUmemGenericAllocationHandle import_exported(CUmemGenericAllocationHandle memory)
{
	CUmemGenericAllocationHandle imported;
	int fd;

	DRIVER(cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					    0));
	DRIVER(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
					      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	close(fd);
	DRIVER(cuMemRelease(memory));
	return imported;
}

/* Reserves many addresses and maps memory to few of them, as PyTorch's allocator does. A gap in a
 * parameter holds half of a pointer; with the number before it, it equals a reserved address, or
 * one of memory. Maps the memory a second time, as it is imported, and reads it there. */
static void use_reserved()
{
	const size_t unit = 2 << 20;
	const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE},
					CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAllocationProp prop = {CU_MEM_ALLOCATION_TYPE_PINNED};
	struct long_numbered numbered = {};
	CUmemGenericAllocationHandle memory;
	unsigned read[4], across[32], *out;
	CUdeviceptr at;

	CUDA(cudaSetDevice(0));
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	/* A part of the addresses is reserved, and freed, twice. */
	DRIVER(cuMemAddressReserve(&at, (size_t)16 << 30, 0, 0, 0));
	DRIVER(cuMemAddressFree(at, (size_t)16 << 30));
	for (int i = 1; i < 3; i++) {
		CUdeviceptr part;

		DRIVER(cuMemAddressReserve(&part, 2 * i * unit, 0, at + unit, 0));
		DRIVER(cuMemAddressFree(part, 2 * i * unit));
	}
	DRIVER(cuMemAddressReserve(&at, (size_t)16 << 30, 0, at, 0));
	for (int i = 0; i < 2; i++) {
		DRIVER(cuMemCreate(&memory, unit, &prop, 0));
		DRIVER(cuMemMap(at + i * unit, unit, 0, memory, 0));
		memory = import_exported(memory);
		DRIVER(cuMemMap(at + (2 + i) * unit, unit, 0, memory, 0));
		DRIVER(cuMemRelease(memory));
	}
	DRIVER(cuMemSetAccess(at, 4 * unit, &access, 1));
	/* Crosses the border between two mappings. */
	for (unsigned i = 0; i < 32; i++)
		across[i] = i + 1;
	CUDA(cudaMemcpy((void *)(at + unit - 64), across, sizeof(across), cudaMemcpyHostToDevice));
	out = (unsigned *)(at + unit);
	numbered.first = {out, 256, (unsigned)((at >> 32) + 1)};
	CUDA(cudaMemset(out, 0, sizeof(read)));
	put_numbers<<<1, 1>>>(numbered.first, numbered);
	numbered.first = {out + 2, (unsigned)at + 8, (unsigned)(at >> 32)};
	put_numbers<<<1, 1>>>(numbered.first, numbered);
	CUDA(cudaMemcpy(read, (void *)(at + 3 * unit), sizeof(read), cudaMemcpyDeviceToHost));
	printf("%u %u %d\n", read[0], read[1], read[2] == (unsigned)at + 8 && read[3] == read[2]);
	DRIVER(cuMemUnmap(at, 4 * unit));
	DRIVER(cuMemAddressFree(at, (size_t)16 << 30));
}

/* Loads an image that the driver linked. */
static void use_linked()
{
	static char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			    ".visible .entry nothing() { ret; }\n";
	CUlinkState link;
	CUmodule module;
	CUfunction nothing;
	size_t bytes;
	void *image;

	CUDA(cudaSetDevice(0));
	DRIVER(cuLinkCreate(0, NULL, NULL, &link));
	DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx, sizeof(ptx), "ptx", 0, NULL, NULL));
	DRIVER(cuLinkComplete(link, &image, &bytes));
	DRIVER(cuModuleLoadData(&module, image));
	DRIVER(cuLinkDestroy(link));
	DRIVER(cuModuleGetFunction(&nothing, module, "nothing"));
	DRIVER(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CUDA(cudaDeviceSynchronize());
	DRIVER(cuModuleUnload(module));
}

struct shared {
	cudaIpcMemHandle_t memory;
	cudaIpcEventHandle_t event;
};

/* Each process adds 3 y to its copy of y, which it writes back; the second one after the first. */
static void use_shared(int turn, const struct shared *s)
{
	cudaEvent_t event;
	float *x, *y;

	CUDA(cudaIpcOpenMemHandle((void **)&y, s->memory, cudaIpcMemLazyEnablePeerAccess));
	CUDA(cudaIpcOpenEventHandle(&event, s->event));
	CUDA(cudaMalloc(&x, BYTES));
	if (turn > 0)
		CUDA(cudaStreamWaitEvent(0, event, 0));
	CUDA(cudaMemcpy(x, y, BYTES, cudaMemcpyDeviceToDevice));
	axpy<<<N / 256, 256>>>(N, 3, y, x);
	CUDA(cudaMemcpy(y, x, BYTES, cudaMemcpyDeviceToDevice));
	CUDA(cudaEventRecord(event, 0));
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaFree(x));
	CUDA(cudaIpcCloseMemHandle(y));
	CUDA(cudaEventDestroy(event));
}

/* The second process waits in read() until the first one has ended. */
static void share(const char *program)
{
	const char *turns[] = {"0", "1"};
	cudaEvent_t event;
	struct shared s;
	float *y;

	CUDA(cudaMalloc(&y, BYTES));
	CUDA(cudaIpcGetMemHandle(&s.memory, y));
	CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
	CUDA(cudaIpcGetEventHandle(&s.event, event));
	for (int i = 0; i < 2; i++) {
		int ends[2], status;

		if (pipe(ends) || write(ends[1], &s, sizeof(s)) != sizeof(s))
			exit(1);
		if (fork() == 0) {
			dup2(ends[0], 0);
			execl(program, program, "shared", turns[i], (char *)NULL);
			_exit(1);
		}
		if (wait(&status) < 0 || status != 0)
			exit((fprintf(stderr, "process %d failed\n", i), 1));
	}
	CUDA(cudaEventDestroy(event));
	CUDA(cudaFree(y));
}

static void CUDART_CB count_call(void *calls)
{
	*(int *)calls += 1;
}

struct gpu {
	cudaStream_t first, second;
	cudaEvent_t event;
	float *x, *y, *pooled, *locked, *mapped, *managed, *rows;
	size_t pitch;
};

static void launch(cudaStream_t stream, int n, float a, const float *x, float *y)
{
	axpy<<<(n + 255) / 256, 256, 0, stream>>>(n, a, x, y);
}

/* Two blocks that wait for each other, packed parameters, and clusters of two blocks where the GPU
 * has them. */
static void launch_with_attributes(cudaStream_t stream, float *x, float *y, int device)
{
	int n = 512, has_clusters = 0;
	float a = 2;
	const float *from = x;
	void *arguments[] = {&n, &a, &from, &y};
	struct {
		int n;
		float a;
		const float *x;
		float *y;
	} packed = {n, a, x, y};
	size_t bytes = sizeof(packed);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &bytes, CU_LAUNCH_PARAM_END};
	cudaFunction_t function;
	cudaLaunchConfig_t config = {2, 256, 0, stream};
	cudaLaunchAttribute cluster;

	CUDA(cudaLaunchCooperativeKernel((const void *)axpy, 2, 256, arguments, 0, stream));
	CUDA(cudaGetFuncBySymbol(&function, (const void *)axpy));
	DRIVER(cuLaunchKernel((CUfunction)function, 2, 1, 1, 256, 1, 1, 0, stream, NULL, extra));
	CUDA(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device));
	if (!has_clusters)
		return;
	cluster.id = cudaLaunchAttributeClusterDimension;
	cluster.val.clusterDim.x = 2;
	cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
	config.attrs = &cluster;
	config.numAttrs = 1;
	CUDA(cudaLaunchKernelExC(&config, (const void *)axpy, arguments));
}

/* A graph of nodes that were added by hand, two of them through the generic function. */
static void launch_node(cudaStream_t stream, float *x, float *y)
{
	int n = N;
	float a = 3;
	const float *from = x;
	void *arguments[] = {&n, &a, &from, &y};
	cudaKernelNodeParams node = {(void *)axpy, N / 256, 256, 0, arguments, NULL};
	cudaGraphNodeParams any = {}, copy = {};
	cudaGraphNode_t made, second;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	any.type = cudaGraphNodeTypeKernel;
	any.kernel.func = (void *)axpy;
	any.kernel.gridDim = N / 256;
	any.kernel.blockDim = 256;
	any.kernel.kernelParams = arguments;
	copy.type = cudaGraphNodeTypeMemcpy;
	copy.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(y, 1024, 1024, 1);
	copy.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(x, 1024, 1024, 1);
	copy.memcpy.copyParams.extent = make_cudaExtent(1024, 1, 1);
	copy.memcpy.copyParams.kind = cudaMemcpyDefault;
	CUDA(cudaGraphCreate(&graph, 0));
	CUDA(cudaGraphAddKernelNode(&made, graph, NULL, 0, &node));
	CUDA(cudaGraphAddNode(&second, graph, &made, NULL, 1, &any));
	CUDA(cudaGraphAddNode(&made, graph, &second, NULL, 1, &copy));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	CUDA(cudaGraphLaunch(exec, stream));
	CUDA(cudaStreamSynchronize(stream));
	CUDA(cudaGraphExecDestroy(exec));
	CUDA(cudaGraphDestroy(graph));
}

static void allocate(struct gpu *g)
{
	int least, greatest;

	CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	CUDA(cudaStreamCreateWithPriority(&g->first, cudaStreamNonBlocking, greatest));
	CUDA(cudaStreamCreate(&g->second));
	CUDA(cudaEventCreateWithFlags(&g->event, cudaEventDisableTiming));
	CUDA(cudaMalloc(&g->x, BYTES));
	CUDA(cudaMalloc(&g->y, BYTES));
	CUDA(cudaMallocAsync(&g->pooled, BYTES, g->first));
	CUDA(cudaMallocHost(&g->locked, BYTES));
	CUDA(cudaHostAlloc(&g->mapped, BYTES, cudaHostAllocMapped));
	CUDA(cudaMallocManaged(&g->managed, BYTES));
	CUDA(cudaMallocPitch(&g->rows, &g->pitch, 100, 40));
	for (int i = 0; i < N; i++) {
		g->locked[i] = (float)i;
		g->mapped[i] = 2.0f * i;
		g->managed[i] = 3.0f * i;
	}
}

static void compute(struct gpu *g, std::vector<float> &host, int *calls)
{
	struct pair p = {g->pooled, g->y, N};
	float *list[2] = {g->x, g->y}, **on_device, *symbol;

	CUDA(cudaMemcpy(g->x, host.data(), BYTES, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpyAsync(g->y, g->locked, BYTES, cudaMemcpyHostToDevice, g->first));
	CUDA(cudaMemsetAsync(g->pooled, 0, BYTES, g->first));
	launch(g->first, N, 2, g->x, g->y);
	launch(g->first, N, 3, g->y, g->pooled);
	CUDA(cudaEventRecord(g->event, g->first));
	CUDA(cudaStreamWaitEvent(g->second, g->event, 0));
	launch(g->second, N, 4, g->mapped, g->pooled);
	launch(g->second, N, 1, g->managed, g->pooled);
	add_one<<<N / 256, 256, 0, g->second>>>(p);
	CUDA(cudaMemcpy2DAsync(g->rows, g->pitch, host.data(), 100, 100, 40, cudaMemcpyHostToDevice,
			       g->second));
	CUDA(cudaMemset2DAsync(g->rows, g->pitch, 7, 50, 20, g->second));
	CUDA(cudaStreamSynchronize(g->second));
	CUDA(cudaMalloc(&on_device, sizeof(list)));
	CUDA(cudaMemcpy(on_device, list, sizeof(list), cudaMemcpyHostToDevice));
	follow<<<1, 1, 0, g->second>>>(on_device, 2);
	CUDA(cudaLaunchHostFunc(g->second, count_call, calls));
	CUDA(cudaMemcpyToSymbol(table, host.data(), sizeof(table)));
	CUDA(cudaGetSymbolAddress((void **)&symbol, table));
	launch(g->second, 1024, 1, symbol, g->x);
	CUDA(cudaMemcpyAsync(host.data(), g->y, BYTES, cudaMemcpyDeviceToHost, g->second));
	CUDA(cudaStreamSynchronize(g->second));
	for (int i = 0; i < N; i++)
		g->mapped[i] += 1;
	launch(g->second, N, 4, g->mapped, g->y);
	CUDA(cudaStreamSynchronize(g->second));
}

static void launch_graph(struct gpu *g)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	/* A capture that another call makes invalid. */
	CUDA(cudaStreamBeginCapture(g->first, cudaStreamCaptureModeThreadLocal));
	launch(g->first, N, 1, g->x, g->y);
	if (cudaStreamSynchronize(g->first) == cudaSuccess ||
	    cudaStreamEndCapture(g->first, &graph) == cudaSuccess)
		exit((fprintf(stderr, "the capture is valid\n"), 1));
	cudaGetLastError();

	CUDA(cudaStreamBeginCapture(g->first, cudaStreamCaptureModeThreadLocal));
	launch(g->first, N, 1, g->x, g->y);
	CUDA(cudaMemsetAsync(g->pooled, 0, 128, g->first));
	CUDA(cudaMemcpyAsync(g->pooled + 16, g->y, 256, cudaMemcpyDeviceToDevice, g->first));
	launch(g->first, N, 1, g->y, g->pooled);
	CUDA(cudaStreamEndCapture(g->first, &graph));
	CUDA(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CUDA(cudaGraphLaunch(exec, g->first));
	CUDA(cudaStreamSynchronize(g->first));
	CUDA(cudaGraphExecDestroy(exec));
	CUDA(cudaGraphDestroy(graph));
}

/* Overwrites memory that was freed and allocated again: its first contents are undefined. */
static void overwrite_freed(cudaStream_t stream)
{
	const int n = 1 << 20;
	struct pair p = {NULL, NULL, n};
	float *x, *y;

	CUDA(cudaMalloc(&y, n * sizeof(float)));
	CUDA(cudaMemset(y, 0, n * sizeof(float)));
	CUDA(cudaMalloc(&x, n * sizeof(float)));
	CUDA(cudaMemset(x, 1, n * sizeof(float)));
	CUDA(cudaFree(x));
	CUDA(cudaMalloc(&x, n * sizeof(float)));
	p.in = y;
	p.out = x;
	add_one<<<n / 256, 256, 0, stream>>>(p);
	CUDA(cudaStreamSynchronize(stream));
	CUDA(cudaFree(x));
	CUDA(cudaFree(y));
}

/* Allocates freed memory again, in another size. */
static void allocate_again(struct gpu *g)
{
	CUDA(cudaFreeAsync(g->pooled, g->first));
	CUDA(cudaFree(g->x));
	CUDA(cudaMalloc(&g->x, 2 * BYTES));
	CUDA(cudaMemset(g->x, 1, 2 * BYTES));
	CUDA(cudaFreeHost(g->locked));
	CUDA(cudaFree(g->managed));
	CUDA(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	int calls = 0, gpus = device_count();
	struct shared s;

	if (argc > 1 && strcmp(argv[1], "shared") == 0) {
		if (argc == 2)
			share(argv[0]);
		else if (read(0, &s, sizeof(s)) == sizeof(s))
			use_shared(atoi(argv[2]), &s);
		return 0;
	}
	if (argc > 1) {
		use_reserved();
		use_linked();
		return 0;
	}
	for (int d = 0; d < gpus; d++) {
		std::vector<float> host(N, 1.5f + d);
		struct gpu g;
		float *other;

		CUDA(cudaSetDevice(d));
		allocate(&g);
		compute(&g, host, &calls);
		launch_graph(&g);
		launch_with_attributes(g.first, g.x, g.y, d);
		launch_node(g.first, g.x, g.y);
		if (d > 0) {
			CUDA(cudaSetDevice(0));
			CUDA(cudaMalloc(&other, BYTES));
			CUDA(cudaMemcpyPeer(other, 0, g.pooled, d, BYTES));
			launch(0, N, 1, other, other);
			CUDA(cudaDeviceSynchronize());
			CUDA(cudaSetDevice(d));
		}
		overwrite_freed(g.second);
		allocate_again(&g);
		printf("%g %g, %d calls\n", host[0], host[N - 1], calls);
	}
	return 0;
}
#endif
