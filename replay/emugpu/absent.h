/* SPDX-License-Identifier: Apache-2.0 */

/* Absent device memory (driver/memory/absent.h) as libraries outside the driver see it. Programs
 * that run without gpuemu have no absent memory. Any thread. */
#pragma once

#include <stdint.h>
#include <string.h>

/* Exported by libcuda.so.1. */
__attribute__((weak)) int gpuemu_is_absent(const void *address, uint64_t bytes);
__attribute__((weak)) uint64_t gpuemu_zero_bytes(const void *address, uint64_t bytes);
__attribute__((weak)) int gpuemu_is_undefined(const void *address, uint64_t bytes);
__attribute__((weak)) int gpuemu_is_unwritten(const void *address);
__attribute__((weak)) void gpuemu_clear(void *address, uint64_t bytes);

/* Smaller transfers read and write all pages. */
#define EMU_ABSENT_BYTES (64u << 10)

/* Returns whether device memory reads as zeros and uses no host memory. */
static inline int emu_is_absent(const void *at, uint64_t bytes)
{
	return gpuemu_is_absent && gpuemu_is_absent(at, bytes);
}

/* Returns how many bytes from `at` on are zeros, at most `bytes`. Reads a limited number of present
 * pages, so the bytes after them may be zeros, too. */
static inline uint64_t emu_zero_bytes(const void *at, uint64_t bytes)
{
	return gpuemu_zero_bytes ? gpuemu_zero_bytes(at, bytes) : 0;
}

/* Returns true if memory is absent, or if half of it is and a kernel without a host kernel should
 * have written it. */
static inline int emu_is_undefined(const void *at, uint64_t bytes)
{
	return gpuemu_is_undefined && gpuemu_is_undefined(at, bytes);
}

/* Returns whether a kernel without a host kernel should have written the memory at an address. */
static inline int emu_is_unwritten(const void *at)
{
	return gpuemu_is_unwritten && gpuemu_is_unwritten(at);
}

/* Fills memory with zeros. Whole pages of device memory become absent. */
static inline void emu_clear(void *at, uint64_t bytes)
{
	if (gpuemu_clear)
		gpuemu_clear(at, bytes);
	else
		memset(at, 0, bytes);
}
