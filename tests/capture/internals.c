/* SPDX-License-Identifier: Apache-2.0 */

/* Preloaded after the capture library and before NCCL: ncclAllReduce also uses a stream and memory
 * of its own, and lets the program's stream wait, as NCCL may. */
#include <cuda.h>
#include <dlfcn.h>
#include <nccl.h>
#include <stdlib.h>

static struct {
	CUstream stream;
	CUevent event;
	CUdeviceptr memory;
} own;

static void must(CUresult r)
{
	if (r)
		abort();
}

static void work(CUstream stream)
{
	if (!own.stream) {
		must(cuStreamCreate(&own.stream, CU_STREAM_NON_BLOCKING));
		must(cuEventCreate(&own.event, CU_EVENT_DISABLE_TIMING));
		must(cuMemAlloc(&own.memory, 256));
	}
	must(cuMemsetD8Async(own.memory, 1, 256, own.stream));
	must(cuEventRecord(own.event, own.stream));
	must(cuStreamWaitEvent(stream, own.event, 0));
	must(cuMemsetD8Async(own.memory, 2, 256, stream));
}

__attribute__((visibility("default"))) ncclResult_t ncclAllReduce(const void *from, void *to,
								  size_t count, ncclDataType_t type,
								  ncclRedOp_t op, ncclComm_t comm,
								  cudaStream_t stream)
{
	__typeof__(ncclAllReduce) *real = dlsym(RTLD_NEXT, "ncclAllReduce");

	work((CUstream)stream);
	return real(from, to, count, type, op, comm, stream);
}
