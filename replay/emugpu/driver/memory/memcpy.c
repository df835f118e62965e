/* SPDX-License-Identifier: Apache-2.0 */

/* Public functions for copies and fills. */
#include "replay/emugpu/driver/memory/transfer.h"

#define HOST(p) ((CUdeviceptr)(uintptr_t)(p))

/* Copies `bytes` on a stream. */
static CUresult copy_linear(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
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

EMU_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy_linear(to, from, bytes, NULL, 1);
}

EMU_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy_linear(to, from, bytes, stream, 0);
}

EMU_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
			      CUcontext from_context, size_t bytes)
{
	return copy_linear(to, from, bytes, NULL, 1);
}

EMU_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
				   CUcontext from_context, size_t bytes, CUstream stream)
{
	return copy_linear(to, from, bytes, stream, 0);
}

EMU_API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t n,
				       CUmemcpyAttributes *attributes, size_t *indices,
				       size_t n_attributes, CUstream stream)
{
	CUresult r = stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; !r && i < n; i++)
		r = copy_linear(to[i], from[i], bytes[i], stream, 0);
	return r;
}

/* ---- 2D and 3D ---- */

static CUresult copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, int blocking)
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

		r = copy_3d(&p, stream, 0);
	}
	return r;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, int blocking)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMCPY3D q = {
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcArray = p->srcArray,
		.srcPitch = p->srcPitch,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstArray = p->dstArray,
		.dstPitch = p->dstPitch,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = 1,
	};

	return copy_3d(&q, stream, blocking);
}

EMU_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
	return copy_2d(p, NULL, 1);
}

EMU_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
	return copy_2d(p, stream, 0);
}

EMU_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *p)
{
	return copy_3d(p, NULL, 1);
}

EMU_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream stream)
{
	return copy_3d(p, stream, 0);
}

static CUresult spatial_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream, int blocking)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMCPY3D q = {
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcZ = p->srcZ,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcArray = p->srcArray,
		.srcPitch = p->srcPitch,
		.srcHeight = p->srcHeight,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstZ = p->dstZ,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstArray = p->dstArray,
		.dstPitch = p->dstPitch,
		.dstHeight = p->dstHeight,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = p->Depth,
	};

	return copy_3d(&q, stream, blocking);
}

EMU_API CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p)
{
	return spatial_peer(p, NULL, 1);
}

EMU_API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream stream)
{
	return spatial_peer(p, stream, 0);
}

/* ---- fills ---- */

static CUresult enqueue_set(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t item_bytes,
			    size_t width, size_t height, CUstream stream, int blocking)
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

/* The functions that fill lines with values of a type. */
#define FILLS(bits, type)                                                                          \
	EMU_API CUresult cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t n)                \
	{                                                                                          \
		return enqueue_set(to, n, value, sizeof(type), n, 1, NULL, 1);                     \
	}                                                                                          \
	EMU_API CUresult cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t n,              \
						CUstream stream)                                   \
	{                                                                                          \
		return enqueue_set(to, n, value, sizeof(type), n, 1, stream, 0);                   \
	}                                                                                          \
	EMU_API CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value,          \
						size_t width, size_t height)                       \
	{                                                                                          \
		return enqueue_set(to, pitch, value, sizeof(type), width, height, NULL, 1);        \
	}                                                                                          \
	EMU_API CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value,        \
						  size_t width, size_t height, CUstream stream)    \
	{                                                                                          \
		return enqueue_set(to, pitch, value, sizeof(type), width, height, stream, 0);      \
	}

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)
