/* SPDX-License-Identifier: Apache-2.0 */

/* cuBLAS and cuBLASLt on emulated GPUs, through the driver API. Prints failed checks; the exit
 * status is 0 if there are none. */
#include "tests/emugpu/check_all.h"

#include <cublas_v2.h>
#include <cublasLt.h>
#include <cuda.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { M = 70, N = 50, K = 90 };

static float a[M * K], b[K * N], c[M * N], want[M * N];

static void make_inputs(void)
{
	for (int i = 0; i < M * K; i++)
		a[i] = (float)(i * 7919 % 101) / 50 - 1;
	for (int i = 0; i < K * N; i++)
		b[i] = (float)(i * 104729 % 97) / 48 - 1;
	for (int j = 0; j < N; j++)
		for (int i = 0; i < M; i++) {
			double sum = 0;

			for (int p = 0; p < K; p++)
				sum += (double)a[i + p * M] * b[p + j * K];
			want[i + j * M] = (float)sum;
		}
}

static CUdeviceptr to_device(const void *from, size_t bytes)
{
	CUdeviceptr at = 0;

	CHECK(cuMemAlloc(&at, bytes) == CUDA_SUCCESS);
	CHECK(cuMemcpyHtoD(at, from, bytes) == CUDA_SUCCESS);
	return at;
}

static void compare(const char *what, CUdeviceptr at, double tolerance)
{
	double worst = 0;

	CHECK(cuMemcpyDtoH(c, at, sizeof(c)) == CUDA_SUCCESS);
	for (int i = 0; i < M * N; i++)
		worst = fmax(worst, fabs(c[i] - want[i]));
	if (!(worst <= tolerance)) {
		printf("%s: off by %g\n", what, worst);
		failures++;
	}
}

static void products(cublasHandle_t h, CUdeviceptr da, CUdeviceptr db, CUdeviceptr dc)
{
	const float one = 1, zero = 0, two = 2, minus_one = -1;
	CUdeviceptr scalars = to_device((float[]){1, 0}, 8);

	CHECK(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, (float *)da, M, (float *)db,
			  K, &zero, (float *)dc, M) == CUBLAS_STATUS_SUCCESS);
	compare("cublasSgemm", dc, 1e-4);
	cuMemsetD8(dc, 0, sizeof(c));
	CHECK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, (void *)scalars, (void *)da,
			   CUDA_R_32F, M, (void *)db, CUDA_R_32F, K, (void *)(scalars + 4),
			   (void *)dc, CUDA_R_32F, M, CUBLAS_COMPUTE_32F_FAST_TF32,
			   CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST) == CUBLAS_STATUS_SUCCESS);
	compare("cublasGemmEx, scalars on the device", dc, 1e-4);
	CHECK(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &two, (void *)da, CUDA_R_32F, M,
			   (void *)db, CUDA_R_32F, K, &minus_one, (void *)dc, CUDA_R_32F, M,
			   CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
	compare("cublasGemmEx", dc, 1e-4);
	CHECK(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, (float *)da, M - 1,
			  (float *)db, K, &zero, (float *)dc, M) == CUBLAS_STATUS_INVALID_VALUE);
	CHECK(cublasSspmv(h, CUBLAS_FILL_MODE_UPPER, 1, &one, (float *)da, (float *)da, 1, &zero,
			  (float *)dc, 1) == CUBLAS_STATUS_NOT_SUPPORTED);
	cuMemFree(scalars);
}

static void vectors(cublasHandle_t h, CUdeviceptr da)
{
	const float two = 2;
	double sum = 0;
	float dot = 0;
	int index = 0;

	for (int i = 0; i < M * K; i++)
		sum += (double)a[i] * a[i];
	CHECK(cublasSdot(h, M * K, (float *)da, 1, (float *)da, 1, &dot) == CUBLAS_STATUS_SUCCESS);
	CHECK(fabs(dot - sum) < 1e-3 * sum);
	CHECK(cublasSnrm2(h, M * K, (float *)da, 1, &dot) == CUBLAS_STATUS_SUCCESS);
	CHECK(fabs(dot - sqrt(sum)) < 1e-3);
	CHECK(cublasSscal(h, M * K, &two, (float *)da, 1) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasSdot(h, M * K, (float *)da, 1, (float *)da, 1, &dot) == CUBLAS_STATUS_SUCCESS);
	CHECK(fabs(dot - 4 * sum) < 1e-3 * sum);
	CHECK(cublasIsamax(h, M * K, (float *)da, 1, &index) == CUBLAS_STATUS_SUCCESS);
	CHECK(index >= 1 && fabsf(a[index - 1]) >= 0.99f);
}

/* D = 3 A B - 2 C, with C = A B and a descriptor in memory of the program. */
static void check_local_descriptor(cublasLtHandle_t h, CUdeviceptr da, cublasLtMatrixLayout_t la,
				   CUdeviceptr db, cublasLtMatrixLayout_t lb, CUdeviceptr dc,
				   cublasLtMatrixLayout_t lc)
{
	const float one = 1, zero = 0, three = 3, minus_two = -2;
	const float *const scalars[][2] = {{&one, &zero}, {&three, &minus_two}};
	cublasLtMatmulDescOpaque_t d;

	CHECK(cublasLtMatmulDescInit(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
	for (int i = 0; i < 2; i++)
		CHECK(cublasLtMatmul(h, &d, scalars[i][0], (void *)da, la, (void *)db, lb,
				     scalars[i][1], (void *)dc, lc, (void *)dc, lc, NULL, NULL, 0,
				     NULL) == CUBLAS_STATUS_SUCCESS);
	compare("cublasLtMatmul, descriptor of the program", dc, 1e-4);
}

/* D = relu(A B + bias), with an algorithm from the heuristic. */
/* Every third element of a vector, and a part of a matrix, to the device and back. */
static void copies(CUdeviceptr dc)
{
	static const float zeros[M * N];

	CHECK(cuMemcpyHtoD(dc, zeros, sizeof(zeros)) == CUDA_SUCCESS);
	CHECK(cublasSetVector(20, sizeof(float), a, 3, (void *)dc, 2) == CUBLAS_STATUS_SUCCESS);
	CHECK(cuMemcpyDtoH(c, dc, sizeof(c)) == CUDA_SUCCESS);
	for (int i = 0; i < 40; i++)
		CHECK(c[i] == (i % 2 ? 0 : a[i / 2 * 3]));
	CHECK(cublasGetVector(20, sizeof(float), (void *)dc, 2, c, 1) == CUBLAS_STATUS_SUCCESS);
	for (int i = 0; i < 20; i++)
		CHECK(c[i] == a[i * 3]);
	CHECK(cublasSetMatrix(M, N, sizeof(float), a, M, (void *)dc, M) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasGetMatrix(2, 3, sizeof(float), (float *)dc + 5, M, c, 4) ==
	      CUBLAS_STATUS_SUCCESS);
	for (int j = 0; j < 3; j++)
		CHECK(memcmp(c + j * 4, a + 5 + j * M, 2 * sizeof(float)) == 0);
	CHECK(cublasSetMatrixAsync_64(M, N, sizeof(float), b, M, (void *)dc, M, NULL) ==
		      CUBLAS_STATUS_SUCCESS &&
	      cublasGetMatrixAsync(M, N, sizeof(float), (void *)dc, M, c, M, NULL) ==
		      CUBLAS_STATUS_SUCCESS &&
	      cuStreamSynchronize(NULL) == CUDA_SUCCESS && memcmp(c, b, sizeof(c)) == 0);
	CHECK(cublasSetMatrix(M, N, sizeof(float), a, M - 1, (void *)dc, M) ==
	      CUBLAS_STATUS_INVALID_VALUE);
	CHECK(cublasSetVector(0, sizeof(float), a, 1, (void *)dc, 1) == CUBLAS_STATUS_SUCCESS);
}

static void check_matmul(cublasLtHandle_t h, CUdeviceptr da, CUdeviceptr db, CUdeviceptr dc)
{
	const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
	const float one = 1, zero = 0;
	cublasLtMatmulHeuristicResult_t found;
	cublasLtMatmulPreference_t preference;
	cublasLtMatrixLayout_t la, lb, lc;
	cublasLtMatmulDesc_t d;
	float bias[M], old[M * N];
	CUdeviceptr at;
	int n = 0;

	for (int i = 0; i < M; i++)
		bias[i] = (float)i / 10 - 3;
	at = to_device(bias, sizeof(bias));
	CHECK(cublasLtMatrixLayoutCreate(&la, CUDA_R_32F, M, K, M) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasLtMatrixLayoutCreate(&lb, CUDA_R_32F, K, N, K) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasLtMatrixLayoutCreate(&lc, CUDA_R_32F, M, N, M) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasLtMatmulDescCreate(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
	      CUBLAS_STATUS_SUCCESS);
	cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
				       sizeof(epilogue));
	cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at, sizeof(at));
	CHECK(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasLtMatmulAlgoGetHeuristic(h, d, la, lb, lc, lc, preference, 1, &found, &n) ==
	      CUBLAS_STATUS_SUCCESS);
	CHECK(n == 1 && found.state == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasLtMatmul(h, d, &one, (void *)da, la, (void *)db, lb, &zero, (void *)dc, lc,
			     (void *)dc, lc, &found.algo, NULL, 0, NULL) == CUBLAS_STATUS_SUCCESS);
	memcpy(old, want, sizeof(old));
	for (int i = 0; i < M * N; i++)
		want[i] = fmaxf(want[i] + bias[i % M], 0);
	compare("cublasLtMatmul", dc, 1e-4);
	memcpy(want, old, sizeof(old));
	check_local_descriptor(h, da, la, db, lb, dc, lc);
	cublasLtMatmulPreferenceDestroy(preference);
	cublasLtMatmulDescDestroy(d);
	cublasLtMatrixLayoutDestroy(la);
	cublasLtMatrixLayoutDestroy(lb);
	cublasLtMatrixLayoutDestroy(lc);
	cuMemFree(at);
}

struct product {
	cublasHandle_t handle;
	CUdeviceptr a, b, c;
};

/* A thread without a context uses a handle of another thread, as PyTorch's pool of handles does. */
static void *product_in_thread(void *arg)
{
	const float one = 1, zero = 0;
	const struct product *p = arg;
	CUcontext context;

	CHECK(cuCtxGetCurrent(&context) == CUDA_SUCCESS && !context);
	CHECK(cublasSgemm(p->handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, (float *)p->a, M,
			  (float *)p->b, K, &zero, (float *)p->c, M) == CUBLAS_STATUS_SUCCESS);
	return NULL;
}

static void another_thread(cublasHandle_t h, CUdeviceptr da, CUdeviceptr db, CUdeviceptr dc)
{
	struct product p = {h, da, db, dc};
	pthread_t thread;

	cuMemsetD8(dc, 0, sizeof(c));
	CHECK(cublasSetStream(h, NULL) == CUBLAS_STATUS_SUCCESS);
	CHECK(pthread_create(&thread, NULL, product_in_thread, &p) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	compare("cublasSgemm in a thread without a context", dc, 1e-4);
}

int main(void)
{
	CUdeviceptr da, db, dc;
	cublasLtHandle_t lt;
	cublasHandle_t h;
	CUcontext context;
	CUstream stream;
	int version = 0;

	make_inputs();
	CHECK(cuInit(0) == CUDA_SUCCESS);
	CHECK(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
	CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
	CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
	CHECK(cublasCreate(&h) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasLtCreate(&lt) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasSetStream(h, stream) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasGetVersion(h, &version) == CUBLAS_STATUS_SUCCESS && version == CUBLAS_VERSION);
	da = to_device(a, sizeof(a));
	db = to_device(b, sizeof(b));
	dc = to_device(c, sizeof(c));
	products(h, da, db, dc);
	check_matmul(lt, da, db, dc);
	another_thread(h, da, db, dc);
	vectors(h, da);
	copies(dc);
	CHECK(cublasDestroy(h) == CUBLAS_STATUS_SUCCESS);
	CHECK(cublasLtDestroy(lt) == CUBLAS_STATUS_SUCCESS);
	CHECK(cuMemFree(da) == CUDA_SUCCESS && cuMemFree(db) == CUDA_SUCCESS &&
	      cuMemFree(dc) == CUDA_SUCCESS);
	if (!failures)
		printf("all right\n");
	return failures != 0;
}
