/* SPDX-License-Identifier: Apache-2.0 */

/* Source side, destination side and size of a copy. One thread. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

enum rec_copy_side { REC_PAGEABLE, REC_PINNED, REC_DEVICE };

struct rec_copy {
	enum rec_copy_side from, to;
	int peer; /* copies between two devices, according to the function's name or arguments */
	int64_t bytes; /* -1: unknown */
};

/* `c` must be a copy. */
struct rec_copy rec_copy_from_call(const struct rec_call *c);
/* Reads CUDA_MEMCPY2D, or CUDA_MEMCPY3D, which has planes. `prefix` precedes its field names.
 * `peer` is not set: the struct does not contain it. */
void rec_copy_from_struct(const struct rec_call *c, const struct api_view *v, const char *prefix,
			  struct rec_copy *ret);

/* Makes a name like "Memcpy HtoD (Pinned -> Device)". Returns 0 or -ENOMEM. */
int rec_copy_name(const struct rec_call *c, const struct rec_copy *copy, fmt_str *ret);
