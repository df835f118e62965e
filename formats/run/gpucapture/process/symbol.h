/* SPDX-License-Identifier: Apache-2.0 */

/* Demangled names of kernels: "step(float*, int)" for _Z4stepPfi. */
#pragma once

#include "formats/trace/names.h"

/* Cache: each kernel is launched many times, and demangling takes microseconds. */
struct rec_symbols {
	fmt_str *names; /* owned: by symbol; 0: not demangled yet */
	size_t cap;
};

void rec_symbols_done(struct rec_symbols *s);

/* Stores the demangled name. Stores `symbol` if it is not a mangled C++ name, or if this build has
 * no demangler. Returns 0 or -ENOMEM. */
int rec_symbol_name(struct rec_symbols *s, struct fmt_names *names, fmt_str symbol, fmt_str *ret);

/* Returns true if this build has a demangler. */
int rec_symbols_can_demangle(void);
