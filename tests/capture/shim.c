/* SPDX-License-Identifier: Apache-2.0 */

/* Models the driver under WSL: while it is loaded, it opens the real driver by one of the driver's
 * names, resolves functions there when called, and forwards. $SHIM_FOLDER is the real driver's
 * folder. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static void *proper;

__attribute__((constructor)) static void open_proper(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/libcuda.so.1.1", getenv("SHIM_FOLDER"));
	proper = dlopen(path, RTLD_NOW);
}

API int cuInit(unsigned flags)
{
	int (*f)(unsigned) = (int (*)(unsigned))dlsym(proper, "cuInit");

	return f ? f(flags) : 999;
}

API int cuMemAlloc_v2(uint64_t *ret, uint64_t bytes)
{
	int (*f)(uint64_t *, uint64_t) =
		(int (*)(uint64_t *, uint64_t))dlsym(proper, "cuMemAlloc_v2");

	return f ? f(ret, bytes) : 999;
}

API int cuMemFree_v2(uint64_t at)
{
	int (*f)(uint64_t) = (int (*)(uint64_t))dlsym(proper, "cuMemFree_v2");

	return f ? f(at) : 999;
}
