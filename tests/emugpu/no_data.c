/* SPDX-License-Identifier: Apache-2.0 */

/* gpuemu --no-data: full GPUs use almost no host memory, and copies to the host write zeros.
 * Small transfers still move their data. */
#include "tests/emugpu/check_driver.h"
#include "tests/emugpu/resident.h"

#include <cublas_v2.h>
#include <nccl.h>
#include <string.h>

#define GPUS 8
#define GB (UINT64_C(1) << 30)
#define BYTES (70 * GB)
#define MOST_KIB (256 << 10) /* limit of the resident memory of this process */

static CUcontext contexts[GPUS];
static CUdeviceptr memory[GPUS];
static char host[1 << 20];

static void fill(int gpu)
{
	OK(cuDevicePrimaryCtxRetain(&contexts[gpu], gpu));
	OK(cuCtxSetCurrent(contexts[gpu]));
	OK(cuMemAlloc(&memory[gpu], BYTES));
	OK(cuMemsetD32(memory[gpu], 1, BYTES / 4));
	OK(cuMemcpyDtoD(memory[gpu], memory[gpu] + BYTES / 2, BYTES / 2));
	if (gpu > 0)
		OK(cuMemcpyPeer(memory[gpu], contexts[gpu], memory[0], contexts[0], BYTES));
}

static void exchange(void)
{
	ncclComm_t comms[GPUS];

	TRUE(ncclCommInitAll(comms, GPUS, NULL) == ncclSuccess);
	TRUE(ncclGroupStart() == ncclSuccess);
	for (int i = 0; i < GPUS; i++)
		TRUE(ncclAllReduce((void *)memory[i], (void *)memory[i], BYTES / 4, ncclFloat,
				   ncclSum, comms[i], NULL) == ncclSuccess);
	TRUE(ncclGroupEnd() == ncclSuccess);
	for (int i = 0; i < GPUS; i++) {
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuMemsetD32(memory[i], i == 0 ? 7 : 0, 100));
	}
	TRUE(ncclGroupStart() == ncclSuccess);
	for (int i = 0; i < GPUS; i++) {
		TRUE(ncclAllReduce((void *)memory[i], (void *)memory[i], 100, ncclInt32, ncclSum,
				   comms[i], NULL) == ncclSuccess);
		TRUE(ncclSend((void *)memory[i], GB, ncclInt8, (i + 1) % GPUS, comms[i], NULL) ==
		     ncclSuccess);
		TRUE(ncclRecv((void *)(memory[i] + GB), GB, ncclInt8, (i + GPUS - 1) % GPUS,
			      comms[i], NULL) == ncclSuccess);
	}
	TRUE(ncclGroupEnd() == ncclSuccess);
	for (int i = 0; i < GPUS; i++) {
		int32_t sum[100];

		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuMemcpyDtoH(sum, memory[i], sizeof(sum)));
		TRUE(sum[0] == 7 && sum[99] == 7);
		TRUE(ncclCommDestroy(comms[i]) == ncclSuccess);
	}
}

static void multiply(void)
{
	const float one = 1;
	const float *a = (const float *)memory[0];
	cublasHandle_t handle;

	OK(cuCtxSetCurrent(contexts[0]));
	TRUE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
	TRUE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 32768, 32768, 32768, &one, a, 32768, a,
			 32768, &one, (float *)(memory[0] + 8 * GB),
			 32768) == CUBLAS_STATUS_SUCCESS);
	OK(cuStreamSynchronize(NULL));
	TRUE(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

int main(void)
{
	long before;

	OK(cuInit(0));
	before = resident_kib();
	for (int i = 0; i < GPUS; i++)
		fill(i);
	exchange();
	multiply();
	memset(host, 1, sizeof(host));
	OK(cuMemcpyHtoD(memory[0], host, sizeof(host)));
	OK(cuMemcpyDtoH(host, memory[0], sizeof(host)));
	for (size_t i = 0; i < sizeof(host); i++)
		TRUE(host[i] == 0);
	TRUE(resident_kib() - before < MOST_KIB);
	return 0;
}
