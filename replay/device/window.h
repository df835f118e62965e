/* SPDX-License-Identifier: Apache-2.0 */

/* Which iterations of a recording are executed, and from where on: objects are made by the calls
 * before, memory is filled from a keyframe. One thread. */
#pragma once

#include "formats/trace/store/trace.h"

#include <stdbool.h>

/* Numbers of iterations; FMT_BEFORE: from the beginning of the recording, FMT_AFTER: to its end. */
struct rex_range {
	int64_t first, last;
	bool cublas_calls; /* calls of cuBLAS are made, instead of the driver's within them */
};

/* Sets *ret to the iterations that have to be executed for those of `wanted`: from the last
 * keyframe that all ranks have on. 0 or a negative errno as fmt_slice_load(), with *err; -ENOENT:
 * the recording does not have these iterations. */
int rex_window_find(struct fmt_trace *trace, struct rex_range wanted, struct rex_range *ret,
		    struct fmt_error *err);
