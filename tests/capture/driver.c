/* SPDX-License-Identifier: Apache-2.0 */

/* A driver for tests of the capture library: a few calls that record their arguments, a call
 * without description, and cuGetProcAddress. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define API __attribute__((visibility("default")))

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static uint64_t calls;

API uint64_t fake_calls(void)
{
	return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

static int count(void)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	return 0;
}

API int cuInit(unsigned flags)
{
	return count();
}

API int cuDriverGetVersion(int *version)
{
	*version = 12345;
	return count();
}

API int cuStreamGetCtx(void *stream, void **context)
{
	if (context)
		*context = (void *)(0x1234567800000000 + (uintptr_t)stream);
	return count();
}

API int cuCtxSynchronize(void)
{
	return count();
}

API int cuMemAlloc_v2(uint64_t *ret, uint64_t bytes)
{
	*ret = 0x700000000000 + bytes;
	count();
	return bytes == 0 ? 1 : 0;
}

API int cuMemFree_v2(uint64_t at)
{
	return count();
}

API int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, uint64_t bytes, void *stream)
{
	return count();
}

API int cuMemcpyDtoDAsync_v2_ptsz(uint64_t to, uint64_t from, uint64_t bytes, void *stream)
{
	return count();
}

API int cuModuleLoadData(void **ret, const void *image)
{
	*ret = (void *)0x1000;
	return count();
}

API int cuModuleUnload(void *module)
{
	return count();
}

/* Function 0x2000 has an int at offset 0 and a pointer at offset 8; 0x3000 has no parameters. */
API int cuFuncGetParamInfo(uint64_t function, size_t i, size_t *offset, size_t *bytes)
{
	if (function != 0x2000 || i > 1)
		return 1;
	*offset = i * 8;
	*bytes = i == 0 ? 4 : 8;
	return 0;
}

API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		       unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	return count();
}

API int cuLaunchKernelEx(const void *config, void *f, void **params, void **extra)
{
	return count();
}

/* Both run the function at once: the first on this thread, the second on another thread. */
API int cuLaunchHostFunc(void *stream, void (*f)(void *), void *data)
{
	count();
	f(data);
	return 0;
}

static struct {
	void (*f)(void *);
	void *data;
} handed;

static void *run_handed(void *nothing)
{
	handed.f(handed.data);
	return NULL;
}

API int cuStreamAddCallback(void *stream, void (*f)(void *), void *data, unsigned flags)
{
	pthread_t thread;

	count();
	handed.f = f;
	handed.data = data;
	if (pthread_create(&thread, NULL, run_handed, NULL) != 0)
		return 999;
	return pthread_join(thread, NULL);
}

/* A call without description. */
API long cuNewThing(int a, double b, long c, float d, void *e, long f, long g, long h, double i,
		    long j, long k)
{
	count();
	return (long)(a + b + c + d + (long)e + f + g * 2 + h * 3 + i + j * 4 + k * 5);
}

/* A function without description that begins a capture. */
API int cuStreamBeginNewCapture(void *stream)
{
	return count();
}

struct two {
	double x, y;
};

API struct two cuNewPair(double x, double y)
{
	count();
	return (struct two){y, x};
}

API int cuGetProcAddress_v2(const char *symbol, void **ret, int version, uint64_t flags,
			    int *status);

/* Same as cuModuleUnload and cuMemFree_v2, but different from the functions exported under these
 * names. */
static int unload(void *module)
{
	return count();
}

static int free_memory(uint64_t at)
{
	return count();
}

/* Functions by name, and whether the per-thread form was requested. */
static const struct {
	const char *symbol;
	int per_thread, since;
	void *function;
} procs[] = {
	{"cuInit", 0, 2000, (void *)cuInit},
	{"cuMemAlloc", 0, 3020, (void *)cuMemAlloc_v2},
	{"cuMemcpyDtoDAsync", 0, 3020, (void *)cuMemcpyDtoDAsync_v2},
	{"cuMemcpyDtoDAsync", 1, 7000, (void *)cuMemcpyDtoDAsync_v2_ptsz},
	{"cuNewThing", 0, 14000, (void *)cuNewThing},
	{"cuStreamBeginNewCapture", 0, 14000, (void *)cuStreamBeginNewCapture},
	{"cuModuleUnload", 0, 2000, (void *)unload},
	{"cuMemFree", 0, 3020, (void *)free_memory},
	{"cuGetProcAddress", 0, 12000, (void *)cuGetProcAddress_v2},
};

int cuGetProcAddress_v2(const char *symbol, void **ret, int version, uint64_t flags, int *status)
{
	int per_thread = (flags & 2) != 0, best = -1;

	count();
	*ret = NULL;
	for (unsigned i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		if (strcmp(procs[i].symbol, symbol) != 0 || procs[i].since > version ||
		    procs[i].per_thread > per_thread || procs[i].per_thread < best)
			continue;
		best = procs[i].per_thread;
		*ret = procs[i].function;
	}
	if (status)
		*status = *ret ? 0 : 1;
	return 0;
}

API int cuGetProcAddress(const char *symbol, void **ret, int version, uint64_t flags)
{
	int r = cuGetProcAddress_v2(symbol, ret, version, flags, NULL);

	return r || *ret ? r : 500;
}
