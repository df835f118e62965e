/* SPDX-License-Identifier: Apache-2.0 */

/* Common to the functions that `gpuemu` preloads before those of libc: the real functions, and the
 * clock of the emulated libcuda.so.1, which may not be loaded. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The result of look_up(name, version): looked up once, and kept in *found. */
void *emu_found_once(void **found, void *(*look_up)(const char *, const char *), const char *name,
		     const char *version);

/* The function behind ours. `version` may be NULL. */
void *emu_next(const char *name, const char *version);

#define REAL(name, version)                                                                        \
	static void *real_found;                                                                   \
	__typeof__(name) *real =                                                                   \
		(__typeof__(name) *)emu_found_once(&real_found, emu_next, #name, version)

/* A function of libcuda.so.1, or NULL. */
void *emu_driver_function(void **found, const char *name);

/* The calling thread's virtual time, 0 without a driver; and advances it to `ns`, unless it is
 * later already. */
int64_t emu_now_ns(void);
void emu_not_before(int64_t ns);
