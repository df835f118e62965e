/* SPDX-License-Identifier: Apache-2.0 */

/* Three seconds of products, for the hint of gpuemu. */
#include "tests/emugpu/check_driver.h"

#include <cublas_v2.h>

#include <time.h>

enum { N = 1024 };

int main(void)
{
	const float one = 1, zero = 0;
	cublasHandle_t handle;
	CUcontext context;
	CUdeviceptr a;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc(&a, 3 * N * N * sizeof(float)));
	OK(cuMemsetD32(a, 0x3f800000, 3 * N * N)); /* products of zeros are not computed */
	TRUE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
	while (clock() < 3 * CLOCKS_PER_SEC)
		TRUE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, (const float *)a,
				 N, (const float *)a + N * N, N, &zero, (float *)a + 2 * N * N,
				 N) == CUBLAS_STATUS_SUCCESS);
	OK(cuStreamSynchronize(NULL));
	TRUE(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
	return 0;
}
