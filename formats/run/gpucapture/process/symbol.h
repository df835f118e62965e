/* SPDX-License-Identifier: Apache-2.0 */

/* Names of kernels as people write them: "step(float*, int)" for _Z4stepPfi. */
#pragma once

#include "formats/trace/names.h"

/* Those that were read, since each is launched many times and reading one takes microseconds. */
struct rec_symbols {
	fmt_str *of; /* owned: by symbol; 0: not read yet */
	size_t cap;
};

void rec_symbols_done(struct rec_symbols *s);

/* Stores the demangled name; `symbol` itself if it is not a mangled C++ name, or if this build has
 * no demangler. 0 or -ENOMEM. */
int rec_symbol_name(struct rec_symbols *s, struct fmt_names *names, fmt_str symbol, fmt_str *ret);

/* Whether this build can. */
int rec_symbols_are_read(void);
