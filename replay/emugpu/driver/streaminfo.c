/* SPDX-License-Identifier: Apache-2.0 */

/* Properties of streams. */
#include "replay/emugpu/driver/stream.h"

#include <cudaProfiler.h>

#include <string.h>

#define OF(handle)                                                                                 \
	EMU_ENTER(EMU_CALL_FREE);                                                                  \
	struct emu_stream *s;                                                                      \
	CUresult r = emu_stream_of(self, handle, &s);                                              \
	if (r)                                                                                     \
	return r

EMU_API CUresult cuStreamGetPriority(CUstream stream, int *ret)
{
	OF(stream);
	*ret = s->priority;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamGetFlags(CUstream stream, unsigned *ret)
{
	OF(stream);
	*ret = s->flags;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamGetId(CUstream stream, unsigned long long *ret)
{
	OF(stream);
	*ret = s->id;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamGetDevice(CUstream stream, CUdevice *ret)
{
	OF(stream);
	*ret = s->context->device->ordinal;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamGetCtx(CUstream stream, CUcontext *ret)
{
	OF(stream);
	*ret = (CUcontext)s->context;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *ret, CUgreenCtx *green)
{
	OF(stream);
	*ret = (CUcontext)s->context;
	*green = NULL;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID what, CUstreamAttrValue *ret)
{
	OF(stream);
	memset(ret, 0, sizeof(*ret));
	if (what == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		ret->priority = s->priority;
	return CUDA_SUCCESS;
}

/* Hints for the hardware; ignored. */
EMU_API CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID what,
				      const CUstreamAttrValue *value)
{
	OF(stream);
	if (what == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		s->priority = value->priority;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamCopyAttributes(CUstream to, CUstream from)
{
	OF(to);
	return emu_stream_of(self, from, &s);
}

EMU_API CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr at, size_t bytes,
					unsigned flags)
{
	OF(stream);
	return CUDA_SUCCESS;
}
