/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by the functions that `gpuemu` preloads before those of libc: the real functions, and the
 * clock of the emulated libcuda.so.1, which may not be loaded. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns the result of look_up(name, version), cached in *found. */
void *emu_resolve_once(void **found, void *(*look_up)(const char *, const char *), const char *name,
		       const char *version);

/* Returns the next function of that name after the preloaded one. `version` may be NULL. */
void *emu_next_symbol(const char *name, const char *version);

#define REAL(name, version)                                                                        \
	static void *real_found;                                                                   \
	__typeof__(name) *real =                                                                   \
		(__typeof__(name) *)emu_resolve_once(&real_found, emu_next_symbol, #name, version)

/* Returns a function of libcuda.so.1, or NULL. */
void *emu_driver_function(void **found, const char *name);

/* emu_now_ns() returns the calling thread's virtual time, 0 without a driver. emu_not_before()
 * advances it to `ns`, unless it is already later. */
int64_t emu_now_ns(void);
void emu_not_before(int64_t ns);
