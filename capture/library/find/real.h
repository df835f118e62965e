/* SPDX-License-Identifier: Apache-2.0 */

/* What lies behind the hooks: the next driver, NCCL, cuBLAS, cuBLASLt, and the dynamic loader.
 *
 * The driver is, in this order: $GPUCAPTURE_DRIVER; what follows this library in the order of
 * symbol look-up (the emulated one under gpuemu); libcuda.so.1 in $LD_LIBRARY_PATH, in the loader's
 * cache, in the usual folders. The others are what the program has loaded.
 */
#pragma once

#include "capture/library/state.h"

/* The real functions, by index into formats/api; NULL: not looked for yet. An address publishes the
 * library that it lies in, which another thread may have loaded: release and acquire. */
extern void *cap_reals[];
/* The hooks, by the same index. */
extern void *const cap_hooks[];

/* Finds cap_reals[api]; where there is none, a function that returns the library's own error. */
void *cap_resolve(unsigned api);

static inline void *cap_real_of(unsigned api)
{
	void *real = __atomic_load_n(&cap_reals[api], __ATOMIC_ACQUIRE);

	return likely(real) ? real : cap_resolve(api);
}

/* The driver's handle, loaded if it was not; NULL when the machine has none. */
void *cap_real_driver(void);

/* Whether code at that address is the driver's, or runs while the driver is being opened: what that
 * opens and looks up is its own business. Under WSL libcuda.so.1 is a shim, which opens the driver
 * proper as libcuda.so.1.1 and looks up the same names there. */
bool cap_real_is_driver(const void *address);

/* The driver opens `file`, which is part of it from now on. */
void *cap_real_open_part(const char *file, int mode);

/* Learns whether virtual time rules, as far as that can be known yet. */
void cap_real_find_clock(void);

/* The loader's own; found once. */
struct cap_loader {
	void *(*dlopen)(const char *file, int mode);
	void *(*dlsym)(void *handle, const char *name);
	void *(*dlvsym)(void *handle, const char *name, const char *version);
};
const struct cap_loader *cap_loader(void);

/* Whether it lies in this library. */
bool cap_is_own(const void *address);
/* The path of its file; asks the loader once. */
const char *cap_own_path(void);

/* The first definition of `name` in an object behind this one, without asking the loader. */
void *cap_elf_next(const char *name);
/* The first definition of `name` in an object whose file name begins with `file`. */
void *cap_elf_in(const char *file, const char *name);

/* Writes the path of `library` as the loader's cache has it. 0 or -ENOENT. */
int cap_cache_find(const char *library, char *ret, size_t ret_bytes);
