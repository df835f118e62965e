/* SPDX-License-Identifier: Apache-2.0 */

/* Device memory that contains only zeros uses no host memory, through fills, copies, NCCL and
 * products. Values between absent pages arrive everywhere. */
#include "tests/emugpu/check_driver.h"
#include "tests/emugpu/resident.h"

#include <cublas_v2.h>
#include <cublasLt.h>
#include <nccl.h>
#include <string.h>

#define GPUS 4
#define GB (UINT64_C(1) << 30)
#define BYTES (4 * GB)
#define MOST_KIB (128 << 10) /* limit of the resident memory of this process */
/* Not at the begin of a page, and in the second half. */
#define VALUE_AT (3 * GB + 12345 * 4)
#define VALUES 3000
#define MESSAGE (1 << 20) /* with values */

static CUcontext contexts[GPUS];
static CUdeviceptr memory[GPUS];
static ncclComm_t comms[GPUS];
static int32_t values[VALUES];

/* Checks that [at - 4, at + 4 * VALUES + 4) has `factor` times the values, between zeros. */
static void check(CUdeviceptr at, int32_t factor)
{
	int32_t got[VALUES + 2];

	OK(cuMemcpyDtoH(got, at - 4, sizeof(got)));
	TRUE(got[0] == 0 && got[VALUES + 1] == 0);
	for (int i = 0; i < VALUES; i++)
		TRUE(got[i + 1] == factor * values[i]);
}

static void write_values(int gpu, CUdeviceptr at)
{
	OK(cuCtxSetCurrent(contexts[gpu]));
	OK(cuMemcpyHtoD(at, values, sizeof(values)));
}

static void copy(int gpu)
{
	static uint8_t host[1 << 20];
	CUdeviceptr here = memory[gpu], half = BYTES / 2;

	OK(cuDevicePrimaryCtxRetain(&contexts[gpu], gpu));
	OK(cuCtxSetCurrent(contexts[gpu]));
	OK(cuMemAlloc(&memory[gpu], BYTES));
	here = memory[gpu];
	OK(cuMemsetD32(here, 0, BYTES / 4));
	write_values(gpu, here + VALUE_AT);
	check(here + VALUE_AT, 1);
	OK(cuMemcpyDtoD(here + 8, here + half, half - 8)); /* other positions in pages */
	check(here + VALUE_AT - half + 8, 1);
	memset(host, 1, sizeof(host));
	OK(cuMemcpyDtoH(host, here + 9 * (GB / 8), sizeof(host)));
	for (size_t i = 0; i < sizeof(host); i++)
		TRUE(host[i] == (i + 9 * (GB / 8) == VALUE_AT - half + 8));
	/* A fill with zeros clears its bytes, but not the byte before and after them. */
	OK(cuMemsetD8(here + 100, 7, 300000));
	OK(cuMemsetD8(here + 101, 0, 299998));
	OK(cuMemcpyDtoH(host, here + 100, 300000));
	for (size_t i = 0; i < 300000; i++)
		TRUE(host[i] == (i == 0 || i == 299999 ? 7 : 0));
	OK(cuMemsetD8(here, 0, half));
	if (gpu > 0) {
		OK(cuMemcpyPeer(here, contexts[gpu], memory[0] + half, contexts[0], half));
		check(here + VALUE_AT - half, 1);
		OK(cuMemsetD8(here, 0, half));
	}
}

static void sync(void)
{
	for (int i = 0; i < GPUS; i++) {
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuStreamSynchronize(NULL));
	}
}

#define EACH_RANK(call)                                                                            \
	do {                                                                                       \
		TRUE(ncclGroupStart() == ncclSuccess);                                             \
		for (int i = 0; i < GPUS; i++)                                                     \
			TRUE((call) == ncclSuccess);                                               \
		TRUE(ncclGroupEnd() == ncclSuccess);                                               \
		sync();                                                                            \
	} while (0)

/* The second half of each buffer has values; on GPU 0, the first half has them, too. */
static void exchange(void)
{
	const size_t n = GB / 4;

	EACH_RANK(ncclAllReduce((void *)memory[i], (void *)memory[i], BYTES / 4, ncclInt32, ncclSum,
				comms[i], NULL));
	for (int i = 0; i < GPUS; i++)
		check(memory[i] + VALUE_AT, GPUS);
	write_values(0, memory[0] + 4096);
	EACH_RANK(ncclAllReduce((void *)memory[i], (void *)memory[i], n, ncclInt32, ncclMin,
				comms[i], NULL));
	check(memory[GPUS - 1] + 4096, 0);
	write_values(0, memory[0] + 4096);
	EACH_RANK(ncclBroadcast((void *)memory[i], (void *)memory[i], n, ncclInt32, 0, comms[i],
				NULL));
	check(memory[GPUS - 1] + 4096, 1);
	EACH_RANK(ncclReduceScatter((void *)memory[i], (void *)(memory[i] + GB), n / GPUS,
				    ncclInt32, ncclSum, comms[i], NULL));
	check(memory[0] + GB + 4096, GPUS);
	EACH_RANK(ncclAllGather((void *)(memory[i] + GB), (void *)memory[i], n / GPUS, ncclInt32,
				comms[i], NULL));
	check(memory[GPUS - 1] + 4096, GPUS);
	EACH_RANK(ncclSend((void *)(memory[i] + VALUE_AT - 4), MESSAGE, ncclInt8, (i + 1) % GPUS,
			   comms[i], NULL) ||
		  ncclRecv((void *)(memory[i] + GB), MESSAGE, ncclInt8, (i + GPUS - 1) % GPUS,
			   comms[i], NULL));
	check(memory[1] + GB + 4, GPUS);
	EACH_RANK(ncclSend((void *)(memory[i] + 2 * GB), GB / 8, ncclInt8, (i + 1) % GPUS, comms[i],
			   NULL) ||
		  ncclRecv((void *)(memory[i] + GB), GB / 8, ncclInt8, (i + GPUS - 1) % GPUS,
			   comms[i], NULL));
	OK(cuCtxSetCurrent(contexts[1]));
	OK(cuMemcpyDtoH(values, memory[1] + GB, sizeof(values)));
	for (int i = 0; i < VALUES; i++)
		TRUE(values[i] == 0);
}

/* Operations of growing sizes at growing offsets, as in nccl-tests: zeros that small ones wrote use
 * no memory elsewhere. */
static void sweep(void)
{
	for (int i = 0; i < GPUS; i++) {
		OK(cuCtxSetCurrent(contexts[i]));
		OK(cuMemsetD8(memory[i], 0, 2 * GB));
	}
	for (size_t n = 16 << 10; n <= GB / 32; n *= 2)
		for (size_t at = 0; at < 16 * n; at += n)
			EACH_RANK(ncclReduceScatter((void *)(memory[i] + at),
						    (void *)(memory[i] + GB + at), n / 4 / GPUS,
						    ncclInt32, ncclSum, comms[i], NULL) ||
				  ncclAllGather((void *)(memory[i] + GB + at),
						(void *)(memory[i] + at), n / 4 / GPUS, ncclInt32,
						comms[i], NULL));
}

/* C = A B + C: with 8192 x 8192 elements, then with small matrices. */
static void multiply(void)
{
	const float one = 1, zero = 0;
	float *a = (float *)memory[0], *b = a + GB / 8, *c = b + GB / 8, got[2] = {3, 4};
	const int n = 8192;
	cublasHandle_t handle;

	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuMemsetD8(memory[0], 0, BYTES));
	OK(cuMemcpyHtoD((CUdeviceptr)c, got, sizeof(got)));
	TRUE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
	TRUE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a, n, b, n, &zero, c,
			 n) == CUBLAS_STATUS_SUCCESS);
	OK(cuMemcpyDtoH(got, (CUdeviceptr)c, sizeof(got)));
	TRUE(got[0] == 0 && got[1] == 0);
	got[0] = 5;
	OK(cuMemcpyHtoD((CUdeviceptr)(a + 300000), got, sizeof(got)));
	OK(cuMemcpyHtoD((CUdeviceptr)(b + 1), got, 4));
	TRUE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 300001, 1, 2, &one, a, 300001, b, 2,
			 &zero, c, 300001) == CUBLAS_STATUS_SUCCESS);
	OK(cuMemcpyDtoH(got, (CUdeviceptr)(c + 299999), sizeof(got)));
	TRUE(got[0] == 0 && got[1] == 0);
	TRUE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 300001, 1, 2, &one, a, 300001, b + 1, 2,
			 &one, c, 300001) == CUBLAS_STATUS_SUCCESS);
	OK(cuMemcpyDtoH(got, (CUdeviceptr)(c + 299999), sizeof(got)));
	TRUE(got[0] == 0 && got[1] == 25);
	TRUE(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

int main(void)
{
	long before;

	for (int i = 0; i < VALUES; i++)
		values[i] = i + 1;
	OK(cuInit(0));
	before = resident_kib();
	for (int i = 0; i < GPUS; i++)
		copy(i);
	TRUE(ncclCommInitAll(comms, GPUS, NULL) == ncclSuccess);
	exchange();
	sweep();
	for (int i = 0; i < GPUS; i++)
		TRUE(ncclCommDestroy(comms[i]) == ncclSuccess);
	multiply();
	TRUE(resident_kib() - before < MOST_KIB);
	return 0;
}
