/* SPDX-License-Identifier: Apache-2.0 */

/* Names of kernels: mangled symbols, and the names that people write. Any thread. */
#pragma once

#include <stdint.h>

/* Returns the demangled symbol, on the heap; a copy of `symbol` if there is no libstdc++.so.6; NULL
 * without memory. */
char *emu_name_demangle(const char *symbol);

/* The same without return type and parameters: "at::native::reduce_kernel<512, 1, ...>". */
char *emu_name_plain(const char *symbol);

/* A bit mask of the parameters that are pointers to const, so that the kernel does not write what
 * they point to. 0 if the symbol does not contain types. */
uint64_t emu_name_inputs(const char *symbol);

/* Returns whether `plain` ("saxpy", "scale<float>", or a symbol) names the kernel `symbol`. */
int emu_name_matches(const char *plain, const char *symbol);
