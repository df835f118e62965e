/* SPDX-License-Identifier: Apache-2.0 */

/* From where to where a call copies, and how much. One thread. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

enum rec_side { REC_PAGEABLE, REC_PINNED, REC_DEVICE };

struct rec_copy {
	enum rec_side from, to;
	int peer;      /* between devices, as the call says */
	int64_t bytes; /* -1: it does not say */
};

/* `c` is a copy. */
struct rec_copy rec_copy_of(const struct rec_call *c);
/* CUDA_MEMCPY2D, or CUDA_MEMCPY3D, which has planes; its fields may have a prefix. Whether it is
 * between devices, it does not say. */
void rec_copy_read(const struct rec_call *c, const struct api_view *v, const char *prefix,
		   struct rec_copy *ret);

/* "Memcpy HtoD (Pinned -> Device)". 0 or -ENOMEM. */
int rec_copy_name(const struct rec_call *c, const struct rec_copy *copy, fmt_str *ret);
