/* SPDX-License-Identifier: Apache-2.0 */

/* The driver API as a program uses it: contexts, memory, streams, events, launches of a kernel with
 * a host kernel and of one without. */
#include "tests/emugpu/check_driver.h"
#include <gpuemu.h>

#include <pthread.h>
#include <string.h>

static const char ptx[] = ".version 8.0\n"
			  ".target sm_90\n"
			  ".address_size 64\n"
			  ".visible .global .align 4 .b8 table[64];\n"
			  ".visible .entry saxpy(.param .u32 n, .param .f32 a,\n"
			  " .param .u64 .ptr .align 1 x, .param .u64 y)\n"
			  ".maxntid 256, 1, 1\n"
			  "{ ret; }\n"
			  ".visible .entry nothing() { ret; }\n";

static void saxpy(struct gpuemu_launch *launch, void *const *args)
{
	int n = *(int *)args[0];
	float a = *(float *)args[1];
	const float *x = *(const float **)args[2];
	float *y = *(float **)args[3];

	for (int i = 0; i < n; i++)
		y[i] += a * x[i];
}

static void saxpy_cost(const struct gpuemu_launch *launch, void *const *args,
		       struct gpuemu_cost *ret)
{
	/* A thousand times the real size, so that the host's own time is negligible. */
	ret->bytes = 12e3 * *(int *)args[0];
}

static const struct gpuemu_kernel kernel = {.name = "saxpy", .run = saxpy, .cost = saxpy_cost};

static CUmodule module;

/* A fault in a kernel is a sticky error of its context. */
static void fault(struct gpuemu_launch *launch, void *const *args)
{
	launch->error = CUDA_ERROR_ILLEGAL_ADDRESS;
}

static const struct gpuemu_kernel faulty = {.name = "faulty", .run = fault};

static void test_fault(CUdevice device)
{
	CUcontext context;
	static CUmodule lost; /* freed with its context */
	CUfunction f;
	CUdeviceptr p;

	OK(cuCtxCreate(&context, NULL, 0, device));
	OK(cuModuleLoadData(&lost, ".version 8.0\n.target sm_90\n.entry faulty() { ret; }\n"));
	OK(cuModuleGetFunction(&f, lost, "faulty"));
	gpuemu_register(&faulty);
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	FAILS(cuMemAlloc(&p, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
	FAILS(cuStreamQuery(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(cuCtxDestroy(context));
}

static void test_memory(void)
{
	CUdeviceptr p, q;
	size_t free_bytes, total, before;
	char text[16] = "";

	OK(cuMemGetInfo(&before, &total));
	OK(cuMemAlloc(&p, 1 << 20));
	OK(cuMemGetInfo(&free_bytes, &total));
	TRUE(before - free_bytes == 1 << 20);
	FAILS(cuMemAlloc(&q, total), CUDA_ERROR_OUT_OF_MEMORY);
	FAILS(cuMemAlloc(&q, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAlloc(&q, free_bytes));
	FAILS(cuMemAlloc(&q, 1), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemFree(q));
	FAILS(cuMemFree(q), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemcpyHtoD(p + 100, "hello", 6));
	OK(cuMemcpyDtoH(text, p + 100, 6));
	TRUE(strcmp(text, "hello") == 0);
	OK(cuMemsetD32(p, 0x01020304, 4));
	OK(cuMemcpyDtoH(text, p, 16));
	TRUE(text[0] == 4 && text[15] == 1);
	FAILS(cuMemsetD32(p + 1, 0, 4), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree(p));
}

static void test_launch(void)
{
	int n = 1 << 20;
	float a = 2, *x = malloc((size_t)n * 4), *y = malloc((size_t)n * 4), ms;
	CUdeviceptr dx, dy;
	CUfunction f;
	CUstream s;
	CUevent from, to;
	void *args[] = {&n, &a, &dx, &dy};
	size_t offset, bytes;

	OK(cuModuleGetFunction(&f, module, "saxpy"));
	OK(cuFuncGetParamInfo(f, 2, &offset, &bytes));
	TRUE(offset == 8 && bytes == 8);
	FAILS(cuFuncGetParamInfo(f, 4, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAlloc(&dx, (size_t)n * 4));
	OK(cuMemAlloc(&dy, (size_t)n * 4));
	for (int i = 0; i < n; i++)
		x[i] = (float)i;
	OK(cuMemcpyHtoD(dx, x, (size_t)n * 4));
	OK(cuMemsetD32(dy, 0, (size_t)n));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&from, CU_EVENT_DEFAULT));
	OK(cuEventCreate(&to, CU_EVENT_DEFAULT));
	OK(cuCtxSynchronize());
	OK(cuEventRecord(from, s));
	for (int i = 0; i < 10; i++)
		OK(cuLaunchKernel(f, (unsigned)n / 256, 1, 1, 256, 1, 1, 0, s, args, NULL));
	OK(cuEventRecord(to, s));
	FAILS(cuEventQuery(to), CUDA_ERROR_NOT_READY);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 512, 1, 1, 0, s, args, NULL),
	      CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	FAILS(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, s, args, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuEventSynchronize(to));
	OK(cuEventElapsedTime(&ms, from, to));
	/* Ten times 12 GB: at 0.77 TB/s on the slowest model, at 4.1 TB/s on the fastest. */
	TRUE(ms > 30 && ms < 170);
	OK(cuMemcpyDtoH(y, dy, (size_t)n * 4));
	for (int i = 0; i < n; i++)
		TRUE(y[i] == 20 * (float)i);
	OK(cuStreamDestroy(s));
	OK(cuEventDestroy(from));
	OK(cuEventDestroy(to));
	OK(cuMemFree(dx));
	OK(cuMemFree(dy));
	free(x);
	free(y);
}

static void test_buffer(void)
{
	struct {
		int n;
		float a;
		CUdeviceptr x, y;
	} packed = {.n = 4, .a = 3};
	size_t size = sizeof(packed);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &size, CU_LAUNCH_PARAM_END};
	float x[4] = {1, 2, 3, 4}, y[4];
	CUfunction f;

	OK(cuModuleGetFunction(&f, module, "saxpy"));
	OK(cuMemAlloc(&packed.x, 16));
	OK(cuMemAlloc(&packed.y, 16));
	OK(cuMemcpyHtoD(packed.x, x, 16));
	OK(cuMemsetD8(packed.y, 0, 16));
	OK(cuLaunchKernel(f, 1, 1, 1, 4, 1, 1, 0, NULL, NULL, extra));
	OK(cuMemcpyDtoH(y, packed.y, 16));
	TRUE(y[3] == 12);
	size = 8;
	FAILS(cuLaunchKernel(f, 1, 1, 1, 4, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuModuleGetFunction(&f, module, "absent"), CUDA_ERROR_NOT_FOUND);
}

static int order[3], seen;

/* Several threads launch many kernels for the first time: each launch finds its code, however long
 * loading takes. */
enum { THREADS = 4, MODULES = 200, OTHERS = 20000 };
static CUfunction fresh[MODULES];
static pthread_barrier_t at_once;
static int runs;

static void count_run(struct gpuemu_launch *launch, void *const *args)
{
	__atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
}

static void *launch_all(void *context)
{
	CUstream stream;

	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < MODULES; i++) {
		pthread_barrier_wait(&at_once);
		OK(cuLaunchKernel(fresh[i], 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	}
	OK(cuStreamSynchronize(stream));
	OK(cuStreamDestroy(stream));
	return NULL;
}

static void test_first_launches(CUcontext context)
{
	static const struct gpuemu_kernel counted = {.name = "counted", .run = count_run};
	static struct gpuemu_kernel others[OTHERS];
	static CUmodule modules[MODULES];
	pthread_t threads[THREADS];

	for (int i = 0; i < OTHERS; i++) {
		others[i] = (struct gpuemu_kernel){.name = "another", .run = count_run};
		gpuemu_register(i == 0 ? &counted : &others[i]);
	}
	for (int i = 0; i < MODULES; i++) {
		OK(cuModuleLoadData(&modules[i],
				    ".version 8.0\n.target sm_90\n.entry counted() { ret; }\n"));
		OK(cuModuleGetFunction(&fresh[i], modules[i], "counted"));
	}
	pthread_barrier_init(&at_once, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, launch_all, context);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&at_once);
	TRUE(runs == THREADS * MODULES);
	for (int i = 0; i < MODULES; i++)
		OK(cuModuleUnload(modules[i]));
}

/* Two images are linked into one; invalid images, and images without code for the device, are
 * refused. */
static void test_link(void)
{
	static const char more[] = PTX(ENTRY("another()"));
	CUlinkState link;
	CUmodule linked;
	CUfunction f;
	void *image;
	size_t bytes;

	OK(cuLinkCreate(0, NULL, NULL, &link));
	OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx, sizeof(ptx), "a", 0, NULL,
			 NULL));
	OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)more, strlen(more), "b", 0,
			 NULL, NULL));
	FAILS(cuLinkAddData(link, CU_JIT_INPUT_CUBIN, (void *)(uintptr_t) "\177ELF", 4, "c", 0,
			    NULL, NULL),
	      CUDA_ERROR_INVALID_IMAGE);
	FAILS(cuLinkAddData(link, CU_JIT_INPUT_LIBRARY, (void *)(uintptr_t)more, 8, "d", 0, NULL,
			    NULL),
	      CUDA_ERROR_NOT_SUPPORTED);
	OK(cuLinkComplete(link, &image, &bytes));
	OK(cuModuleLoadData(&linked, image));
	OK(cuLinkDestroy(link));
	OK(cuModuleGetFunction(&f, linked, "saxpy"));
	OK(cuModuleGetFunction(&f, linked, "another"));
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	FAILS(cuModuleGetFunction(&f, linked, "a third"), CUDA_ERROR_NOT_FOUND);
	OK(cuModuleUnload(linked));
}

static void test_tensor_map(void)
{
	const cuuint64_t sizes[] = {64, 32}, strides[] = {256};
	const cuuint32_t box[] = {16, 16}, steps[] = {1, 1}, large[] = {16, 257};
	CUtensorMap one, two;
	CUdeviceptr p;

	OK(cuMemAlloc(&p, 64 * 32 * 4 + 256));
#define ENCODE(map, at, box)                                                                       \
	cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)(at), sizes,       \
			       strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,                 \
			       CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,        \
			       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
	OK(ENCODE(&one, p, box));
	OK(ENCODE(&two, p + 256, box));
	TRUE(memcmp(&one, &two, sizeof(one)) != 0);
	OK(cuTensorMapReplaceAddress(&two, (void *)p));
	TRUE(memcmp(&one, &two, sizeof(one)) == 0);
	FAILS(ENCODE(&one, p + 4, box), CUDA_ERROR_INVALID_VALUE);
	FAILS(ENCODE(&one, p, large), CUDA_ERROR_INVALID_VALUE);
#undef ENCODE
	OK(cuMemFree(p));
}

/* Settable attributes are stored. Usage counters are read-only; their high-water marks can only be
 * reset. */
static void test_pool(CUdevice device)
{
	cuuint64_t threshold = 1 << 20, got = 0, current = 0, any = 7;
	int reuse = 0, kept = 1;
	CUmemoryPool pool;

	OK(cuDeviceGetDefaultMemPool(&pool, device));
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &got));
	TRUE(got == threshold);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &kept));
	TRUE(kept == 0);
	FAILS(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &any),
	      CUDA_ERROR_INVALID_VALUE);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &any));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &got));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &current));
	TRUE(got == current);
	FAILS(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)0, &any), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, NULL),
	      CUDA_ERROR_INVALID_VALUE);
}

static void test_clusters(void)
{
	CUlaunchAttribute four = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				  .value.clusterDim = {4, 1, 1}};
	CUlaunchConfig config = {4, 1, 1, 1024, 1, 1};
	CUfunction f;
	int has = 0, size = 0, alone = 0, together = 0;

	OK(cuModuleGetFunction(&f, module, "nothing"));
	OK(cuOccupancyMaxPotentialClusterSize(&size, f, &config));
	OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
	TRUE(size == (has ? 8 : 1));
	if (!has)
		return;
	OK(cuOccupancyMaxActiveClusters(&alone, f, &config));
	config.attrs = &four;
	config.numAttrs = 1;
	OK(cuOccupancyMaxActiveClusters(&together, f, &config));
	TRUE(alone > 0 && together == alone / 4);
	four.value.clusterDim.x = 9;
	FAILS(cuOccupancyMaxActiveClusters(&together, f, &config), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

static void note(void *data)
{
	order[seen++] = *(int *)data;
}

/* Host functions run in stream order, and other streams wait for them through events. */
static void test_host_function(void)
{
	int one = 1, two = 2, three = 3;
	CUstream a, b;
	CUevent e;

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuLaunchHostFunc(a, note, &one));
	OK(cuLaunchHostFunc(a, note, &two));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(cuLaunchHostFunc(b, note, &three));
	OK(cuStreamSynchronize(b));
	TRUE(seen == 3 && order[0] == 1 && order[1] == 2 && order[2] == 3);
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
	OK(cuEventDestroy(e));
}

static void test_entry_points(void)
{
	CUdriverProcAddressQueryResult status;
	void *old, *now, *mine;

	OK(cuGetProcAddress("cuMemAlloc", &old, 2000, 0, &status));
	OK(cuGetProcAddress("cuMemAlloc", &now, CUDA_VERSION, 0, &status));
	TRUE(old != now && status == CU_GET_PROC_ADDRESS_SUCCESS);
	OK(cuGetProcAddress("cuLaunchKernel", &now, CUDA_VERSION, 0, NULL));
	OK(cuGetProcAddress("cuLaunchKernel", &mine, CUDA_VERSION,
			    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	TRUE(now == (void *)cuLaunchKernel && mine != now);
	OK(cuGetProcAddress("cuNothing", &now, CUDA_VERSION, 0, &status));
	TRUE(!now && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	OK(cuGetProcAddress("cuGraphAddNode", &now, 11000, 0, &status));
	TRUE(!now && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUdeviceptr table;
	CUfunction f;
	size_t bytes;
	int count;

	gpuemu_register(&kernel);
	FAILS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	OK(cuInit(0));
	OK(cuDeviceGetCount(&count));
	TRUE(count >= 1);
	OK(cuDeviceGet(&device, 0));
	FAILS(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
	FAILS(cuMemAlloc(&table, 1), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxCreate(&context, NULL, 0, device));
	FAILS(cuModuleLoadData(&module, "not an image"), CUDA_ERROR_INVALID_IMAGE);
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetGlobal(&table, &bytes, module, "table"));
	TRUE(bytes == 64 && table);
	OK(cuModuleGetFunction(&f, module, "nothing"));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	test_memory();
	test_launch();
	test_buffer();
	test_host_function();
	test_entry_points();
	test_first_launches(context);
	test_link();
	test_tensor_map();
	test_pool(device);
	test_clusters();
	test_fault(device);
	OK(cuMemAlloc(&table, 1));
	OK(cuModuleUnload(module));
	OK(cuCtxDestroy(context));
	FAILS(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	return 0;
}
