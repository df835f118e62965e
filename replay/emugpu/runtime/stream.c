/* SPDX-License-Identifier: Apache-2.0 */

/* Streams and events; most of their functions are rows of forward.txt. */
#include "replay/emugpu/runtime/runtime.h"

EMU_API cudaError_t cudaStreamCreate(cudaStream_t *ret)
{
	return cudaStreamCreateWithFlags(ret, cudaStreamDefault);
}

EMU_API cudaError_t cudaEventCreate(cudaEvent_t *ret)
{
	return cudaEventCreateWithFlags(ret, cudaEventDefault);
}

EMU_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
					  void *data, unsigned flags)
{
	return RT(cuStreamAddCallback, rt_stream(stream), (CUstreamCallback)(void *)callback, data,
		  flags);
}
