/* SPDX-License-Identifier: Apache-2.0 */

/* Names of kernels: mangled symbols, and names as written in source code. Any thread. */
#pragma once

#include <stdint.h>

/* Returns the demangled symbol, which the caller frees; a copy of `symbol` if libstdc++.so.6 is
 * missing; NULL if out of memory. */
char *emu_name_demangle(const char *symbol);

/* Returns the demangled symbol without return type and parameters:
 * "at::native::reduce_kernel<512, 1, ...>". */
char *emu_name_plain(const char *symbol);

/* Returns a bit mask of the parameters that are pointers to const, to memory that the kernel does
 * not write. 0 if the symbol does not contain types. */
uint64_t emu_name_inputs(const char *symbol);

/* Returns 1 if `plain` ("saxpy", "scale<float>", or a symbol) names the kernel `symbol`. */
int emu_name_matches(const char *plain, const char *symbol);

/* Types of parameters: for pointers to a type, its size, below EMU_NAME_OTHER. */
enum { EMU_NAME_TYPES = 32, EMU_NAME_OTHER = 253, EMU_NAME_INTEGER, EMU_NAME_ANY };

/* Sets the types of the first EMU_NAME_TYPES parameters. EMU_NAME_ANY: not in the name. Pointers to
 * other types than numbers and vectors of them count as pointers to four bytes. */
void emu_name_types(const char *symbol, uint8_t types[EMU_NAME_TYPES]);
