/* SPDX-License-Identifier: Apache-2.0 */

/* Names of kernels as people write them: "step(float*, int)" for _Z4stepPfi. */
#pragma once

#include "formats/names.h"

/* The name in *ret; `symbol` itself where it is none of C++, or this build cannot read it. */
int rec_symbol_name(struct fmt_names *names, fmt_str symbol, fmt_str *ret);

/* Whether this build can. */
int rec_symbols_are_read(void);
