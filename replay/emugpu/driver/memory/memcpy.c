/* SPDX-License-Identifier: Apache-2.0 */

/* Public functions for copies and fills. */
#include "replay/emugpu/driver/memory/transfer.h"

CUresult emu_copy_linear(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
			 int blocking)
{
	EMU_ENTER(EMU_CALL_COPY);
	struct emu_copy_op c = {.to = (uint8_t *)to,
				.from = (const uint8_t *)from,
				.width_bytes = bytes,
				.height = 1,
				.depth = 1};
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	return r ? r : emu_copy(self, s, &c, blocking);
}

EMU_API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t n,
				       CUmemcpyAttributes *attributes, size_t *indices,
				       size_t n_attributes, CUstream stream)
{
	CUresult r = stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; !r && i < n; i++)
		r = emu_copy_linear(to[i], from[i], bytes[i], stream, 0);
	return r;
}

/* ---- 2D and 3D ---- */

CUresult emu_copy_spatial(const CUDA_MEMCPY3D *p, CUstream stream, int blocking)
{
	EMU_ENTER(EMU_CALL_COPY);
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	return r ? r : emu_copy_3d(self, s, p, blocking);
}

EMU_API CUresult cuMemcpy3DBatchAsync_v2(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops,
					 unsigned long long flags, CUstream stream)
{
	CUresult r = stream && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; !r && i < n; i++) {
		const CUmemcpy3DOperand *from = &ops[i].src, *to = &ops[i].dst;
		const CUDA_MEMCPY3D p = {
			.srcMemoryType = from->type == CU_MEMCPY_OPERAND_TYPE_POINTER
						 ? CU_MEMORYTYPE_UNIFIED
						 : CU_MEMORYTYPE_ARRAY,
			.srcDevice = from->op.ptr.ptr,
			.srcPitch = from->op.ptr.rowLength,
			.srcHeight = from->op.ptr.layerHeight,
			.dstMemoryType = to->type == CU_MEMCPY_OPERAND_TYPE_POINTER
						 ? CU_MEMORYTYPE_UNIFIED
						 : CU_MEMORYTYPE_ARRAY,
			.dstDevice = to->op.ptr.ptr,
			.dstPitch = to->op.ptr.rowLength,
			.dstHeight = to->op.ptr.layerHeight,
			.WidthInBytes = ops[i].extent.width,
			.Height = ops[i].extent.height,
			.Depth = ops[i].extent.depth,
		};

		r = emu_copy_spatial(&p, stream, 0);
	}
	return r;
}

/* The members that all copies have, of the source (src) or destination (dst). */
#define SIDE(side)                                                                                 \
	.side##XInBytes = p->side##XInBytes, .side##Y = p->side##Y,                                \
	.side##MemoryType = p->side##MemoryType, .side##Host = p->side##Host,                      \
	.side##Device = p->side##Device, .side##Array = p->side##Array,                            \
	.side##Pitch = p->side##Pitch

CUresult emu_copy_plane(const CUDA_MEMCPY2D *p, CUstream stream, int blocking)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMCPY3D q = {
		SIDE(src),	     SIDE(dst),	 .WidthInBytes = p->WidthInBytes,
		.Height = p->Height, .Depth = 1,
	};

	return emu_copy_spatial(&q, stream, blocking);
}

CUresult emu_copy_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream, int blocking)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMCPY3D q = {
		SIDE(src),
		.srcZ = p->srcZ,
		.srcHeight = p->srcHeight,
		SIDE(dst),
		.dstZ = p->dstZ,
		.dstHeight = p->dstHeight,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = p->Depth,
	};

	return emu_copy_spatial(&q, stream, blocking);
}

/* ---- fills ---- */

CUresult emu_fill(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t item_bytes, size_t width,
		  size_t height, CUstream stream, int blocking)
{
	EMU_ENTER(EMU_CALL_COPY);
	struct emu_set_op set = {.to = (uint8_t *)to,
				 .value = value,
				 .item_bytes = item_bytes,
				 .width = width,
				 .height = height,
				 .pitch = pitch};
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	return r ? r : emu_set(self, s, &set, blocking);
}
