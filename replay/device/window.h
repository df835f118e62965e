/* SPDX-License-Identifier: Apache-2.0 */

/* Selects the iterations of a recording to execute, and their starting point: earlier calls create
 * objects, a keyframe restores memory. One thread. */
#pragma once

#include "formats/trace/store/trace.h"

#include <stdbool.h>

/* Numbers of iterations; FMT_BEFORE: from the start of the recording, FMT_AFTER: to its end. */
struct rex_iteration_range {
	int64_t first, last;
	bool cublas_calls; /* executes cuBLAS calls, instead of the driver calls within them */
};

/* Sets *ret to the iterations that must be executed for those in `wanted`: from the last keyframe
 * that all ranks have. Returns 0; a negative errno as fmt_slice_load(), with *err; or -ENOENT if
 * the recording does not contain these iterations. */
int rex_window_find(struct fmt_trace *trace, struct rex_iteration_range wanted,
		    struct rex_iteration_range *ret, struct fmt_error *err);
