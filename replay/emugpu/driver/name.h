/* SPDX-License-Identifier: Apache-2.0 */

/* Names of kernels: mangled symbols, and the names that people write. Any thread. */
#pragma once

/* Returns the demangled symbol, on the heap; a copy of `symbol` if no demangler is loaded; NULL
 * without memory. */
char *emu_name_demangle(const char *symbol);

/* The same without return type and parameters: "at::native::reduce_kernel<512, 1, ...>". */
char *emu_name_plain(const char *symbol);

/* Returns whether `plain` ("saxpy", "scale<float>", or a symbol) names the kernel `symbol`. */
int emu_name_matches(const char *plain, const char *symbol);
