/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/runtime/runtime.h"
#include "replay/emugpu/versions.h"
#include <gpuemu.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* All rows that RT_DRIVER() added. */
extern struct rt_function __start_rt_functions[] __attribute__((visibility("hidden")));
extern struct rt_function __stop_rt_functions[] __attribute__((visibility("hidden")));

#define DEVICES 64

static struct {
	pthread_once_t once;
	void *library;
	cudaError_t error;
	CUcontext primary[DEVICES];
	pthread_mutex_t lock;
} state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
	cudaError_t last;
	int device; /* chosen before there was a context */
	int bound;  /* the thread has had a context */
} self __attribute__((tls_model("initial-exec")));

/* Kernels registered before the driver was opened. */
struct early {
	const struct gpuemu_kernel *kernel;
	struct early *next;
};
static struct early *early;

static gpuemu_register_kernel_fn *registrar(void)
{
	return (gpuemu_register_kernel_fn *)dlsym(state.library, "gpuemu_register_kernel");
}

gpuemu_register_kernel_fn gpuemu_register_kernel;

EMU_API int gpuemu_register_kernel(const struct gpuemu_kernel *k)
{
	struct early *e;
	int r = 0;

	pthread_mutex_lock(&state.lock);
	if (state.library) {
		r = registrar() ? registrar()(k) : 0;
	} else if ((e = malloc(sizeof(*e)))) {
		*e = (struct early){k, early};
		early = e;
	} else {
		r = -ENOMEM;
	}
	pthread_mutex_unlock(&state.lock);
	return r;
}

static void pass_on_early(void)
{
	struct early *reversed = NULL, *next;
	gpuemu_register_kernel_fn *f = registrar();

	for (struct early *e = early; e; e = next) {
		next = e->next;
		e->next = reversed;
		reversed = e;
	}
	for (struct early *e = reversed; e; e = next) {
		next = e->next;
		if (f)
			f(e->kernel);
		free(e);
	}
	early = NULL;
}

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!library) {
		state.error = cudaErrorInsufficientDriver;
		return;
	}
	for (struct rt_function *f = __start_rt_functions; f < __stop_rt_functions; f++) {
		f->address = dlsym(library, f->name);
		if (!f->address)
			state.error = cudaErrorInsufficientDriver;
	}
	if (state.error)
		return;
	pthread_mutex_lock(&state.lock);
	state.library = library;
	pass_on_early();
	pthread_mutex_unlock(&state.lock);
	state.error = (cudaError_t)RT_DRIVER(cuInit)(0);
}

cudaError_t rt_error(cudaError_t e)
{
	if (e)
		self.last = e;
	return e;
}

/* Opens and initialises the driver on the first call. */
static cudaError_t open_once(void)
{
	pthread_once(&state.once, open_driver);
	return rt_error(state.error);
}

cudaError_t rt_context(int device, CUcontext *ret)
{
	CUresult r = CUDA_SUCCESS;
	int count;

	if (open_once())
		return state.error;
	RT_DRIVER(cuDeviceGetCount)(&count);
	if (device < 0 || device >= count || device >= DEVICES)
		return rt_error(cudaErrorInvalidDevice);
	pthread_mutex_lock(&state.lock);
	if (!state.primary[device])
		r = RT_DRIVER(cuDevicePrimaryCtxRetain)(&state.primary[device], device);
	*ret = state.primary[device];
	pthread_mutex_unlock(&state.lock);
	return rt_result(r);
}

/* NVIDIA's runtime makes the primary context current before it retains it. */
static void set_current_early(void)
{
	const char *wanted = getenv("GPUEMU_LATE_RETAIN");
	CUcontext (*primary)(CUdevice) =
		(CUcontext(*)(CUdevice))dlsym(state.library, "gpuemu_primary_context");

	if (wanted && strcmp(wanted, "1") == 0 && primary)
		RT_DRIVER(cuCtxSetCurrent)(primary(self.device));
}

static cudaError_t bind_thread(void)
{
	CUcontext c = NULL;
	cudaError_t e = open_once();

	if (e)
		return e;
	/* Uses a context that the program made current through the driver API. */
	RT_DRIVER(cuCtxGetCurrent)(&c);
	if (!c) {
		set_current_early();
		e = rt_context(self.device, &c);
		if (!e)
			e = rt_result(RT_DRIVER(cuCtxSetCurrent)(c));
	}
	self.bound = !e;
	return e;
}

cudaError_t rt_ready(void)
{
	return __builtin_expect(self.bound, 1) ? cudaSuccess : bind_thread();
}

/* ---- errors ---- */

EMU_API cudaError_t cudaGetLastError(void)
{
	cudaError_t e = self.last;

	self.last = cudaSuccess;
	return e;
}

EMU_API cudaError_t cudaPeekAtLastError(void)
{
	return self.last;
}

EMU_API const char *cudaGetErrorName(cudaError_t e)
{
	const char *name = emu_result_name((int)e);

	return name ? name : "unrecognized error code";
}

EMU_API const char *cudaGetErrorString(cudaError_t e)
{
	const char *text = emu_result_text((int)e);

	return text ? text : "unrecognized error code";
}

/* ---- the thread's device ---- */

EMU_API cudaError_t cudaSetDevice(int device)
{
	CUcontext c;
	cudaError_t e = rt_context(device, &c);

	if (!e)
		e = rt_result(RT_DRIVER(cuCtxSetCurrent)(c));
	if (!e) {
		self.device = device;
		self.bound = 1;
	}
	return e;
}

EMU_API cudaError_t cudaGetDevice(int *ret)
{
	CUdevice d;

	if (!ret)
		return rt_error(cudaErrorInvalidValue);
	if (open_once())
		return state.error;
	*ret = self.device;
	if (self.bound && RT_DRIVER(cuCtxGetDevice)(&d) == CUDA_SUCCESS)
		*ret = d;
	return cudaSuccess;
}

EMU_API cudaError_t cudaGetDeviceCount(int *ret)
{
	return open_once() ? (*ret = 0, state.error) : rt_result(RT_DRIVER(cuDeviceGetCount)(ret));
}

EMU_API cudaError_t cudaDeviceReset(void)
{
	CUdevice d;
	cudaError_t e = rt_ready();

	if (e)
		return e;
	RT_DRIVER(cuCtxGetDevice)(&d);
	self.last = cudaSuccess;
	return rt_result(RT_DRIVER(cuDevicePrimaryCtxReset_v2)(d));
}

EMU_API cudaError_t cudaDriverGetVersion(int *ret)
{
	if (!ret)
		return rt_error(cudaErrorInvalidValue);
	pthread_once(&state.once, open_driver);
	*ret = 0;
	return state.library ? rt_result(RT_DRIVER(cuDriverGetVersion)(ret)) : cudaSuccess;
}

EMU_API cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **ret,
						     unsigned version, unsigned long long flags,
						     enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found;
	cudaError_t e = open_once();

	if (e)
		return e;
	if (emu_per_thread && !flags)
		flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	e = rt_result(RT_DRIVER(cuGetProcAddress_v2)(symbol, ret, (int)version, flags, &found));
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	return e;
}
