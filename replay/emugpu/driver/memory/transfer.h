/* SPDX-License-Identifier: Apache-2.0 */

/* Copies and fills as ops. */
#pragma once

#include "replay/emugpu/driver/stream.h"

/* Derives the kind of the copy from its addresses; `d` is the stream's device. */
void emu_copy_classify(struct emu_copy_op *c, struct emu_device *d);

/* Submits a copy with addresses and sizes set. `blocking`: a synchronous call, which waits as far
 * as CUDA guarantees. */
CUresult emu_copy(struct emu_thread *self, struct emu_stream *s, struct emu_copy_op *c,
		  int blocking);

/* Submit and describe 2D and 3D copies. Return CUDA_ERROR_NOT_SUPPORTED for arrays. */
CUresult emu_copy_3d(struct emu_thread *self, struct emu_stream *s, const CUDA_MEMCPY3D *p,
		     int blocking);
CUresult emu_copy_from_3d(const CUDA_MEMCPY3D *p, struct emu_copy_op *ret);

CUresult emu_set(struct emu_thread *self, struct emu_stream *s, const struct emu_set_op *set,
		 int blocking);

/* Copies and fills on the stream of a handle, for the public functions. */
CUresult emu_copy_linear(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
			 int blocking);
CUresult emu_copy_plane(const CUDA_MEMCPY2D *p, CUstream stream, int blocking);
CUresult emu_copy_spatial(const CUDA_MEMCPY3D *p, CUstream stream, int blocking);
CUresult emu_copy_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream, int blocking);
CUresult emu_fill(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t item_bytes, size_t width,
		  size_t height, CUstream stream, int blocking);
