/* SPDX-License-Identifier: Apache-2.0 */

/* dlopen, dlsym and dlvsym of the program. Calls that do not involve this library are forwarded by
 * a tail call, so that the loader sees the program's own return address: RTLD_NEXT, RTLD_DEFAULT
 * and DT_RUNPATH depend on it. */
#include "capture/library/entry/hooks.h"
#include "capture/library/entry/unknown.h"
#include "capture/library/find/elf.h"
#include "capture/library/find/real.h"
#include "formats/api/api.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* libcuda.so, libcuda.so.1, libcuda.so.580.65.06, with or without a folder. */
static bool is_driver(const char *file)
{
	const char *slash = strrchr(file, '/');

	file = slash ? slash + 1 : file;
	return strncmp(file, "libcuda.so", 10) == 0 && (file[10] == 0 || file[10] == '.');
}

static bool is_hooked_name(const char *name)
{
	if (name[0] == 'c' && name[1] == 'u')
		return isupper((unsigned char)name[2]) || strncmp(name, "cublas", 6) == 0;
	return strncmp(name[0] == 'p' ? name + 1 : name, "nccl", 4) == 0;
}

static void *own_handle; /* only compared: relaxed */

static __attribute__((noinline)) void *open_driver(int mode)
{
	void *handle;

	/* Without a driver the program gets the same error as without this library. */
	if (!cap_real_driver())
		return cap_loader()->dlopen("/libcuda.so.1/not-there", mode);
	handle = cap_loader()->dlopen(cap_own_path(), mode);
	__atomic_store_n(&own_handle, handle, __ATOMIC_RELAXED);
	return handle;
}

/* Returns the function to give to the program instead of `real` of that name. */
static void *hook_of(const char *name, void *real)
{
	int api = api_find(name);
	void *expected = NULL;

	if (cap_is_own(real))
		return real;
	if (api < 0)
		return cap_unknown_trampoline(name, real);
	if (api_call((unsigned)api)->library == API_LIBRARY_CUDA)
		real = cap_real_wrapped(name, real);
	if (__atomic_compare_exchange_n(&cap_reals[api], &expected, real, 0, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED) ||
	    expected == real)
		return cap_hooks[api];
	/* A second copy of the library: its calls must not be forwarded to the first copy. */
	return cap_unknown_trampoline(name, real);
}

/* NVTX opens this library by its path, and gets the handle of the driver. */
static bool is_injection(const char *name)
{
	return strcmp(name, "InitializeInjectionNvtx2") == 0;
}

/* Looks up a name that may have a hook. */
static __attribute__((noinline)) void *find_hooked(void *handle, const char *name,
						   const char *version, const void *caller)
{
	const struct cap_loader *l = cap_loader();
	bool own = handle == __atomic_load_n(&own_handle, __ATOMIC_RELAXED);
	void *found;

	if (own && !is_injection(name) && cap_real_driver())
		handle = cap_real_driver();
	found = version && !own ? l->dlvsym(handle, name, version) : l->dlsym(handle, name);
	if (!found || !is_hooked_name(name) || cap_real_is_driver(caller))
		return found;

	int kept = errno;

	found = hook_of(name, found);
	errno = kept;
	return found;
}

static bool is_forwarded(void *handle, const char *name)
{
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !name)
		return true;
	return !is_hooked_name(name) && handle != __atomic_load_n(&own_handle, __ATOMIC_RELAXED);
}

CAP_API void *dlopen(const char *file, int mode)
{
	if (file && is_driver(file)) {
		if (!cap_real_is_driver(__builtin_return_address(0)))
			return open_driver(mode);
		return cap_real_open_part(file, mode);
	}
	return cap_loader()->dlopen(file, mode);
}

CAP_API void *dlsym(void *restrict handle, const char *restrict name)
{
	if (is_forwarded(handle, name))
		return cap_loader()->dlsym(handle, name);
	return find_hooked(handle, name, NULL, __builtin_return_address(0));
}

CAP_API void *dlvsym(void *restrict handle, const char *restrict name, const char *restrict version)
{
	if (is_forwarded(handle, name))
		return cap_loader()->dlvsym(handle, name, version);
	return find_hooked(handle, name, version, __builtin_return_address(0));
}
