/* SPDX-License-Identifier: Apache-2.0 */

/* The real functions behind the hooks: those of the driver, NCCL, cuBLAS, cuBLASLt, and of the
 * dynamic loader.
 *
 * The driver is the first of: $GPUCAPTURE_DRIVER; the object that follows this library in the order
 * of symbol look-up (the emulated driver under gpuemu); libcuda.so.1 in $LD_LIBRARY_PATH, in the
 * loader's cache, in the usual folders. NCCL, cuBLAS and cuBLASLt are those that the program
 * loaded.
 *
 * Any thread. Functions keep errno.
 */
#pragma once

#include "capture/library/attributes.h"

#include <stdbool.h>

/* The real functions, by index into formats/api; NULL: not looked up yet. Stored with release and
 * read with acquire: the address publishes the library, which another thread may have loaded. */
#define CAP_MAX_CALLS 4096
extern void *cap_reals[CAP_MAX_CALLS];

/* Looks up cap_reals[api]. Returns a function that returns the library's "not supported" status if
 * the library has no such function. */
void *cap_real_resolve(unsigned api);

static inline void *cap_real_of(unsigned api)
{
	void *real = __atomic_load_n(&cap_reals[api], __ATOMIC_ACQUIRE);

	return likely(real) ? real : cap_real_resolve(api);
}

/* Returns a function by its exact name, as dlsym() finds it in the real library; NULL if the
 * library is not loaded or has no such function. Calls through this pointer are neither recorded
 * nor passed to hooks. Keep the pointer in a static variable: a look-up takes about a microsecond.
 *
 *     static CUresult (*record)(CUevent, CUstream);
 *     if (!record && !(record = cap_real(CAP_DRIVER, "cuEventRecord")))
 *             return;
 */
enum cap_library { CAP_DRIVER, CAP_NCCL, CAP_CUBLAS, CAP_CUBLASLT, CAP_LIBRARIES };
void *cap_real(enum cap_library library, const char *name);

/* Returns the driver's handle, loaded if needed; NULL if the machine has no driver. */
void *cap_real_driver(void);

/* Returns the program's replacement for a function of the driver, or `real` if it has none. A
 * program replaces functions by defining gpucapture_wrap_driver(), as gpureplay does to allocate
 * memory at recorded addresses. */
void *cap_real_wrapped(const char *name, void *real);

/* Returns true if the code at that address belongs to the driver, or the driver is being opened:
 * dlopen() and dlsym() calls of the driver itself are forwarded. Under WSL libcuda.so.1 is a shim
 * that opens the actual driver as libcuda.so.1.1 and looks up the same names in it. */
bool cap_real_is_driver(const void *address);

/* Opens `file` for the driver; its code counts as part of the driver from now on. */
void *cap_real_open_part(const char *file, int mode);

/* The loader's own functions; looked up once. */
struct cap_loader {
	void *(*dlopen)(const char *file, int mode);
	void *(*dlsym)(void *handle, const char *name);
	void *(*dlvsym)(void *handle, const char *name, const char *version);
};
const struct cap_loader *cap_loader(void);
