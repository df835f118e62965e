/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/threads/real.h"

#include <dlfcn.h>

void *emu_resolve_once(void **found, void *(*look_up)(const char *, const char *), const char *name,
		       const char *version)
{
	void *f = __atomic_load_n(found, __ATOMIC_RELAXED);

	if (!f) {
		f = look_up(name, version);
		__atomic_store_n(found, f, __ATOMIC_RELAXED);
	}
	return f;
}

static const void *file_of(const void *address)
{
	Dl_info about;

	return address && dladdr(address, &about) ? about.dli_fbase : NULL;
}

/* dlsym() might find an old version of a function. But if another library interposes it, as
 * ThreadSanitizer does, that library must be called. */
void *emu_next_symbol(const char *name, const char *version)
{
	void *plain = dlsym(RTLD_NEXT, name);
	void *f = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	return f && file_of(f) == file_of(plain) ? f : plain;
}

static void *find_anywhere(const char *name, const char *unused)
{
	return dlsym(RTLD_DEFAULT, name);
}

void *emu_driver_function(void **found, const char *name)
{
	return emu_resolve_once(found, find_anywhere, name, NULL);
}

int64_t emu_now_ns(void)
{
	static void *found;
	uint64_t (*clock)(void) = (uint64_t(*)(void))emu_driver_function(&found, "gpuemu_host_ns");

	return clock ? (int64_t)clock() : 0;
}

void emu_not_before(int64_t ns)
{
	static void *found;
	void (*advance)(int64_t) =
		(void (*)(int64_t))emu_driver_function(&found, "gpuemu_thread_not_before");

	if (advance)
		advance(ns);
}
