/* SPDX-License-Identifier: Apache-2.0 */

/* Streams, events, and waiting for all of them. */
#include "replay/emugpu/runtime/runtime.h"

EMU_API cudaError_t cudaDeviceSynchronize(void)
{
	return RT(cuCtxSynchronize);
}

EMU_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret, unsigned flags)
{
	return RT(cuStreamCreate, ret, flags);
}

EMU_API cudaError_t cudaStreamCreate(cudaStream_t *ret)
{
	return cudaStreamCreateWithFlags(ret, cudaStreamDefault);
}

EMU_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret, unsigned flags, int priority)
{
	return RT(cuStreamCreateWithPriority, ret, flags, priority);
}

EMU_API cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	return RT(cuStreamDestroy_v2, stream);
}

EMU_API cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return RT(cuStreamSynchronize, rt_stream(stream));
}

EMU_API cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	return RT(cuStreamQuery, rt_stream(stream));
}

EMU_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	return RT(cuStreamWaitEvent, rt_stream(stream), event, flags);
}

EMU_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *ret)
{
	return RT(cuStreamGetPriority, rt_stream(stream), ret);
}

EMU_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *ret)
{
	return RT(cuStreamGetFlags, rt_stream(stream), ret);
}

EMU_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *ret)
{
	return RT(cuStreamGetId, rt_stream(stream), ret);
}

EMU_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *ret)
{
	return RT(cuStreamGetDevice, rt_stream(stream), ret);
}

EMU_API cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID what,
					   cudaLaunchAttributeValue *ret)
{
	return RT(cuStreamGetAttribute, rt_stream(stream), (CUstreamAttrID)what,
		  (CUstreamAttrValue *)ret);
}

EMU_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID what,
					   const cudaLaunchAttributeValue *value)
{
	return RT(cuStreamSetAttribute, rt_stream(stream), (CUstreamAttrID)what,
		  (const CUstreamAttrValue *)value);
}

EMU_API cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from)
{
	return RT(cuStreamCopyAttributes, rt_stream(to), rt_stream(from));
}

EMU_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *at, size_t bytes,
					     unsigned flags)
{
	return RT(cuStreamAttachMemAsync, rt_stream(stream), (CUdeviceptr)at, bytes, flags);
}

EMU_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
					  void *data, unsigned flags)
{
	/* The two kinds of status have the same numbers. */
	return RT(cuStreamAddCallback, rt_stream(stream), (CUstreamCallback)(void *)callback, data,
		  flags);
}

EMU_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags)
{
	return RT(cuEventCreate, ret, flags);
}

EMU_API cudaError_t cudaEventCreate(cudaEvent_t *ret)
{
	return cudaEventCreateWithFlags(ret, cudaEventDefault);
}

EMU_API cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	return RT(cuEventDestroy_v2, event);
}

EMU_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return RT(cuEventRecord, event, rt_stream(stream));
}

EMU_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
	return RT(cuEventRecordWithFlags, event, rt_stream(stream), flags);
}

EMU_API cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return RT(cuEventQuery, event);
}

EMU_API cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return RT(cuEventSynchronize, event);
}

EMU_API cudaError_t cudaEventElapsedTime(float *ret, cudaEvent_t start, cudaEvent_t end)
{
	return RT(cuEventElapsedTime_v2, ret, start, end);
}
