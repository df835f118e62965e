/* SPDX-License-Identifier: Apache-2.0 */

/* Copies and fills as ops. */
#pragma once

#include "replay/emugpu/driver/stream.h"

/* Finds out from the addresses between what the copy goes; `d` is the stream's device. */
void emu_copy_classify(struct emu_copy_op *c, struct emu_device *d);

/* Submits a copy whose addresses and sizes are set. `blocking`: the call returns when it is done,
 * as far as CUDA promises that. */
CUresult emu_copy(struct emu_thread *self, struct emu_stream *s, struct emu_copy_op *c,
		  int blocking);

/* The same for 2D and 3D forms of the driver's API; -> CUDA_ERROR_NOT_SUPPORTED for arrays. */
CUresult emu_copy_3d(struct emu_thread *self, struct emu_stream *s, const CUDA_MEMCPY3D *p,
		     int blocking);
CUresult emu_copy_from_3d(const CUDA_MEMCPY3D *p, struct emu_copy_op *ret);

CUresult emu_set(struct emu_thread *self, struct emu_stream *s, const struct emu_set_op *set,
		 int blocking);
