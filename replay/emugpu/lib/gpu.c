/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/lib/gpu.h"

#include "base/scope.h"

#include <pthread.h>
#include <stdio.h>

static struct emu_gpu gpu;
static const struct emu_gpu *found;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static void find_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	if (!driver)
		return;
#define FIND(name)                                                                                 \
	*(void **)&gpu.name = dlsym(driver, #name);                                                \
	if (!gpu.name)                                                                             \
		return;
	EMU_GPU_CALLS(FIND)
	FIND(gpuemu_register_kernel)
	FIND(gpuemu_device_value)
	FIND(gpuemu_host_ns)
	FIND(gpuemu_thread_not_before)
	FIND(gpuemu_clock_pause)
	FIND(gpuemu_clock_resume)
#undef FIND
	*(void **)&gpu.gpuemu_recorded_ns = dlsym(driver, "gpuemu_recorded_ns");
	*(void **)&gpu.gpuemu_explain = dlsym(driver, "gpuemu_explain");
	if (gpu.cuInit(0) == CUDA_SUCCESS)
		found = &gpu;
}

const struct emu_gpu *emu_gpu(void)
{
	pthread_once(&once, find_driver);
	return found;
}

enum gpuemu_math emu_gpu_math(enum emu_type type, int tensor)
{
	switch (type) {
	case EMU_F16:
	case EMU_BF16:
		return tensor ? GPUEMU_FP16 : GPUEMU_FP32;
	case EMU_E4M3:
	case EMU_E5M2:
		return GPUEMU_FP8;
	case EMU_I8:
	case EMU_U8:
		return GPUEMU_INT8;
	case EMU_F64:
		return GPUEMU_FP64;
	default:
		return tensor ? GPUEMU_TF32 : GPUEMU_FP32;
	}
}

int emu_property(libraryPropertyType type, int *value, int major, int minor, int patch)
{
	if (!value || (unsigned)type > PATCH_LEVEL)
		return 0;
	*value = type == MAJOR_VERSION ? major : type == MINOR_VERSION ? minor : patch;
	return 1;
}

CUresult emu_gpu_context(void)
{
	const struct emu_gpu *g = emu_gpu();
	CUcontext context = NULL;
	CUresult r;

	if (!g)
		return CUDA_ERROR_NOT_INITIALIZED;
	r = g->cuCtxGetCurrent(&context);
	if (r != CUDA_SUCCESS || context)
		return r;
	r = g->cuDevicePrimaryCtxRetain(&context, 0);
	return r == CUDA_SUCCESS ? g->cuCtxSetCurrent(context) : r;
}

/* Returns an image that any driver accepts: PTX with one empty kernel for each name. */
static char *image_of(const struct emu_kernels *k)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs(".version 7.0\n.target sm_52\n.address_size 64\n", out);
	for (unsigned i = 0; i < k->n; i++)
		fprintf(out, ".visible .entry %s(.param .align 8 .b8 work[%zu])\n{\n\tret;\n}\n",
			k->kernels[i].name, k->param_bytes);
	return fclose(out) == 0 ? text : NULL;
}

static CUresult load_kernels(const struct emu_gpu *g, struct emu_kernels *k)
{
	scoped(free_ptr) char *image = image_of(k);
	CUlibrary library;
	CUresult r;

	if (!image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < k->n; i++)
		if (g->gpuemu_register_kernel(&k->kernels[i]) < 0)
			return CUDA_ERROR_OUT_OF_MEMORY;
	r = g->cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0);
	for (unsigned i = 0; r == CUDA_SUCCESS && i < k->n; i++)
		r = g->cuLibraryGetKernel(&k->loaded[i], library, k->kernels[i].name);
	if (r == CUDA_SUCCESS)
		__atomic_store_n(&k->state, 1, __ATOMIC_RELEASE);
	return r;
}

CUresult emu_gpu_launch(struct emu_kernels *kernels, unsigned number, CUstream stream,
			const void *param, unsigned blocks, unsigned threads)
{
	static _Thread_local int bound;
	const struct emu_gpu *g = emu_gpu();
	void *params[] = {(void *)(uintptr_t)param};
	CUresult r = CUDA_SUCCESS;

	if (!g)
		return CUDA_ERROR_NOT_INITIALIZED;
	/* Another thread may have created the library's handle. */
	if (!bound)
		r = emu_gpu_context();
	if (r != CUDA_SUCCESS)
		return r;
	bound = 1;
	if (!__atomic_load_n(&kernels->state, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&loading);
		if (!kernels->state)
			r = load_kernels(g, kernels);
		pthread_mutex_unlock(&loading);
		if (r != CUDA_SUCCESS)
			return r;
	}
	return g->cuLaunchKernel((CUfunction)kernels->loaded[number], blocks, 1, 1, threads, 1, 1,
				 0, stream, params, NULL);
}
