/* SPDX-License-Identifier: Apache-2.0 */

/* Which arguments args.c copies, by index into formats/api; made by hooks.py. */
#pragma once

#include <stdint.h>

struct cap_rich {
	uint32_t before, after; /* bit: number of the argument */
};

extern const struct cap_rich cap_rich[];
