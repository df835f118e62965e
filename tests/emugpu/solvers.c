/* SPDX-License-Identifier: Apache-2.0 */

/* cuFFT, cuSOLVER and cuSPARSE against the definitions of their results. */
#include "tests/emugpu/check_driver.h"

#include <complex.h>
#include <cufftXt.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <dlfcn.h>
#include <math.h>
#include <string.h>

static CUdeviceptr memory;
static uint64_t used;

/* A number in [-1, 1] that depends on i. */
static double number(int i)
{
	return sin(12.9898 * i * i + 78.233 * i);
}

/* Copies to new device memory. */
static void *on_device(const void *from, size_t bytes)
{
	CUdeviceptr at = memory + used;

	used += (bytes + 255) / 256 * 256;
	OK(cuMemcpyHtoD(at, from, bytes));
	return (void *)at;
}

static void read_back(void *to, const void *from, size_t bytes)
{
	OK(cuMemcpyDtoH(to, (CUdeviceptr)from, bytes));
}

/* ---- cuFFT ---- */

enum { X = 3, Y = 7, Z = 10, ALL = X * Y * Z };

/* Element (i, j, k) of the transform of a, by its definition. */
static double complex defined(const double complex *a, int i, int j, int k)
{
	double complex sum = 0;

	for (int x = 0; x < X; x++)
		for (int y = 0; y < Y; y++)
			for (int z = 0; z < Z; z++)
				sum += a[(x * Y + y) * Z + z] *
				       cexp(-2 * M_PI * I *
					    ((double)i * x / X + (double)j * y / Y +
					     (double)k * z / Z));
	return sum;
}

static void test_complex(void)
{
	double complex a[ALL], got[ALL];
	cufftHandle plan;
	void *data;

	for (int i = 0; i < ALL; i++)
		a[i] = number(i) + I * number(i + ALL);
	data = on_device(a, sizeof(a));
	TRUE(cufftPlan3d(&plan, X, Y, Z, CUFFT_Z2Z) == CUFFT_SUCCESS);
	TRUE(cufftExecZ2Z(plan, data, data, CUFFT_FORWARD) == CUFFT_SUCCESS);
	read_back(got, data, sizeof(got));
	TRUE(cabs(got[0] - defined(a, 0, 0, 0)) < 1e-9);
	TRUE(cabs(got[(2 * Y + 5) * Z + 3] - defined(a, 2, 5, 3)) < 1e-9);
	TRUE(cufftExecZ2Z(plan, data, data, CUFFT_INVERSE) == CUFFT_SUCCESS);
	read_back(got, data, sizeof(got));
	for (int i = 0; i < ALL; i++)
		TRUE(cabs(got[i] / ALL - a[i]) < 1e-12);
	TRUE(cufftDestroy(plan) == CUFFT_SUCCESS);
	TRUE(cufftExecZ2Z(plan, data, data, CUFFT_FORWARD) == CUFFT_INVALID_PLAN);
}

/* `padded`: in place, where rows of Z numbers have space for Z / 2 + 1 complex ones. */
static void test_real(int padded)
{
	const int half = Z / 2 + 1, row = padded ? 2 * half : Z;
	float a[X * Y * 2 * (Z / 2 + 1)] = {0}, back[X * Y * 2 * (Z / 2 + 1)];
	float complex got[X * Y * (Z / 2 + 1)];
	double complex whole[ALL];
	cufftHandle forward, inverse;
	void *in, *out;

	for (int i = 0; i < ALL; i++)
		whole[i] = a[i / Z * row + i % Z] = (float)number(i);
	in = on_device(a, sizeof(a));
	out = padded ? in : on_device(got, sizeof(got));
	TRUE(cufftPlan3d(&forward, X, Y, Z, CUFFT_R2C) == CUFFT_SUCCESS);
	TRUE(cufftPlan3d(&inverse, X, Y, Z, CUFFT_C2R) == CUFFT_SUCCESS);
	TRUE(cufftExecR2C(forward, in, out) == CUFFT_SUCCESS);
	read_back(got, out, sizeof(got));
	TRUE(cabs(got[half - 1] - defined(whole, 0, 0, Z / 2)) < 1e-4);
	TRUE(cabs(got[(1 * Y + 4) * half + 2] - defined(whole, 1, 4, 2)) < 1e-4);
	TRUE(cufftExecC2R(inverse, out, in) == CUFFT_SUCCESS);
	read_back(back, in, sizeof(back));
	for (int i = 0; i < ALL; i++)
		TRUE(fabs(back[i / Z * row + i % Z] / ALL - creal(whole[i])) < 1e-6);
	TRUE(cufftDestroy(forward) == CUFFT_SUCCESS && cufftDestroy(inverse) == CUFFT_SUCCESS);
}

/* Five transforms of 12 numbers, each beginning at every second element. */
static void test_batch(void)
{
	float complex a[5 * 24], got[5 * 24];
	int n = 12, embed = 12;
	cufftHandle plan;
	void *data;

	for (int i = 0; i < 5 * 24; i++)
		a[i] = (float)number(i);
	data = on_device(a, sizeof(a));
	TRUE(cufftPlanMany(&plan, 1, &n, &embed, 2, 24, &embed, 2, 24, CUFFT_C2C, 5) ==
	     CUFFT_SUCCESS);
	TRUE(cufftExecC2C(plan, data, data, CUFFT_FORWARD) == CUFFT_SUCCESS);
	read_back(got, data, sizeof(got));
	for (int b = 0; b < 5; b++)
		for (int k = 0; k < 12; k++) {
			double complex sum = 0;

			for (int i = 0; i < 12; i++)
				sum += a[24 * b + 2 * i] * cexp(-2 * M_PI * I * i * k / 12);
			TRUE(cabs(got[24 * b + 2 * k] - sum) < 1e-5);
			TRUE(got[24 * b + 2 * k + 1] == a[24 * b + 2 * k + 1]);
		}
}

/* ---- cuSOLVER ---- */

enum { N = 9, LD = 11, RIGHT = 2 };

static double complex square[LD * N], known[LD * RIGHT];

static double complex element(const double complex *a, int i, int j, cublasOperation_t op)
{
	return op == CUBLAS_OP_N   ? a[i + j * LD]
	       : op == CUBLAS_OP_T ? a[j + i * LD]
				   : conj(a[j + i * LD]);
}

/* Sets B = op(A) X and compares what the library makes of it with X. */
static void multiply(const double complex *a, cublasOperation_t op, double complex *b)
{
	for (int c = 0; c < RIGHT; c++)
		for (int i = 0; i < N; i++) {
			b[i + c * LD] = 0;
			for (int j = 0; j < N; j++)
				b[i + c * LD] += element(a, i, j, op) * known[j + c * LD];
		}
}

static void check_solution(const void *at)
{
	double complex got[LD * RIGHT];

	read_back(got, at, sizeof(got));
	for (int c = 0; c < RIGHT; c++)
		for (int i = 0; i < N; i++)
			TRUE(cabs(got[i + c * LD] - known[i + c * LD]) < 1e-9);
}

static void test_lu(cusolverDnHandle_t handle, cublasOperation_t op)
{
	double complex b[LD * RIGHT] = {0};
	int pivots[N] = {0}, info = 7, size;
	void *a = on_device(square, sizeof(square)), *x;
	int *p = on_device(pivots, sizeof(pivots)), *i = on_device(&info, sizeof(info));

	multiply(square, op, b);
	x = on_device(b, sizeof(b));
	TRUE(cusolverDnZgetrf_bufferSize(handle, N, N, a, LD, &size) == CUSOLVER_STATUS_SUCCESS);
	TRUE(cusolverDnZgetrf(handle, N, N, a, LD, NULL, p, i) == CUSOLVER_STATUS_SUCCESS);
	TRUE(cusolverDnZgetrs(handle, op, N, RIGHT, a, LD, p, x, LD, i) == CUSOLVER_STATUS_SUCCESS);
	read_back(&info, i, sizeof(info));
	TRUE(info == 0);
	check_solution(x);
}

/* A v = lambda v for each eigenvector on the right; invalid sizes do not reach LAPACK, which would
 * end the program. */
static void test_eigenvectors(cusolverDnHandle_t handle)
{
	const cudaDataType type = CUDA_C_64F;
	double complex values[N] = {0}, vectors[LD * N] = {0};
	int info = 7, *i = on_device(&info, sizeof(info));
	void *a = on_device(square, sizeof(square)), *w = on_device(values, sizeof(values)),
	     *v = on_device(vectors, sizeof(vectors));
	cusolverStatus_t r;

	for (int ld = N - 1; ld <= LD; ld += LD - N + 1) {
		r = cusolverDnXgeev(handle, NULL, CUSOLVER_EIG_MODE_NOVECTOR,
				    CUSOLVER_EIG_MODE_VECTOR, N, type, a, ld, type, w, type, NULL,
				    1, type, v, ld, type, NULL, 0, NULL, 0, i);
		if (r == CUSOLVER_STATUS_NOT_SUPPORTED && !dlopen("liblapack.so.3", RTLD_NOW))
			return;
		TRUE(r == (ld < N ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_SUCCESS));
	}
	read_back(&info, i, sizeof(info));
	read_back(values, w, sizeof(values));
	read_back(vectors, v, sizeof(vectors));
	TRUE(info == 0);
	for (int c = 0; c < N; c++) {
		double length = 0;

		for (int k = 0; k < N; k++) {
			double complex difference = -values[c] * vectors[k + c * LD];

			for (int j = 0; j < N; j++)
				difference +=
					element(square, k, j, CUBLAS_OP_N) * vectors[j + c * LD];
			TRUE(cabs(difference) < 1e-9);
			length += cabs(vectors[k + c * LD]);
		}
		TRUE(length > 0.9);
	}
}

static void test_cholesky(cusolverDnHandle_t handle, cublasFillMode_t fill)
{
	double complex positive[LD * N] = {0}, b[LD * RIGHT] = {0};
	int info = 7;
	int *i = on_device(&info, sizeof(info));
	void *a, *x;

	for (int r = 0; r < N; r++)
		for (int c = 0; c < N; c++)
			for (int k = 0; k < N; k++)
				positive[r + c * LD] += element(square, r, k, CUBLAS_OP_N) *
							element(square, k, c, CUBLAS_OP_C);
	multiply(positive, CUBLAS_OP_N, b);
	/* The other triangle is not read. */
	for (int r = 0; r < N; r++)
		for (int c = 0; c < N; c++)
			if (fill == CUBLAS_FILL_MODE_LOWER ? r < c : r > c)
				positive[r + c * LD] = 1000;
	a = on_device(positive, sizeof(positive));
	x = on_device(b, sizeof(b));
	TRUE(cusolverDnZpotrf(handle, fill, N, a, LD, NULL, 0, i) == CUSOLVER_STATUS_SUCCESS);
	TRUE(cusolverDnZpotrs(handle, fill, N, RIGHT, a, LD, x, LD, i) == CUSOLVER_STATUS_SUCCESS);
	check_solution(x);
	positive[4 + 4 * LD] = -1;
	a = on_device(positive, sizeof(positive));
	TRUE(cusolverDnZpotrf(handle, fill, N, a, LD, NULL, 0, i) == CUSOLVER_STATUS_SUCCESS);
	read_back(&info, i, sizeof(info));
	TRUE(info == 5);
}

static void test_dense(void)
{
	cusolverDnHandle_t handle;
	void *a;

	for (int i = 0; i < LD * N; i++)
		square[i] = number(i) + I * number(i + 1000);
	square[0] = 0; /* needs an exchange of rows */
	for (int i = 0; i < LD * RIGHT; i++)
		known[i] = number(i + 2000) + I * number(i + 3000);
	TRUE(cusolverDnCreate(&handle) == CUSOLVER_STATUS_SUCCESS);
	test_lu(handle, CUBLAS_OP_N);
	test_lu(handle, CUBLAS_OP_T);
	test_lu(handle, CUBLAS_OP_C);
	test_eigenvectors(handle);
	test_cholesky(handle, CUBLAS_FILL_MODE_LOWER);
	test_cholesky(handle, CUBLAS_FILL_MODE_UPPER);
	a = on_device(square, sizeof(square));
	TRUE(cusolverDnZgetrf(handle, N, N, a, N - 1, NULL, NULL, NULL) ==
	     CUSOLVER_STATUS_INVALID_VALUE);
	TRUE(cusolverDnDestroy(handle) == CUSOLVER_STATUS_SUCCESS);
}

/* ---- cuSPARSE ---- */

/* A, of 3 x 4: row 0 has two entries, row 1 none, row 2 one. */
static void test_sparse(int coo, cusparseOperation_t op)
{
	const int offsets[] = {0, 2, 2, 3}, rows[] = {0, 0, 2}, columns[] = {3, 1, 0};
	const float values[] = {2, 3, 5}, alpha = 2, beta = -1;
	const float whole[3][4] = {{0, 3, 0, 2}, {0}, {5}};
	const int n = op == CUSPARSE_OPERATION_NON_TRANSPOSE ? 3 : 4;
	float b[8], c[8], got[8];
	cusparseHandle_t handle;
	cusparseSpMatDescr_t a;
	cusparseDnMatDescr_t matrix, result;
	int *by_row = on_device(coo ? rows : offsets, coo ? sizeof(rows) : sizeof(offsets));
	void *column = on_device(columns, sizeof(columns)), *value = on_device(values, 12), *out;

	for (int i = 0; i < 8; i++) {
		b[i] = (float)number(i);
		c[i] = (float)number(i + 10);
	}
	out = on_device(c, sizeof(c));
	TRUE(cusparseCreate(&handle) == CUSPARSE_STATUS_SUCCESS);
	TRUE((coo ? cusparseCreateCoo(&a, 3, 4, 3, by_row, column, value, CUSPARSE_INDEX_32I,
				      CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F)
		  : cusparseCreateCsr(&a, 3, 4, 3, by_row, column, value, CUSPARSE_INDEX_32I,
				      CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F)) ==
	     CUSPARSE_STATUS_SUCCESS);
	TRUE(cusparseCreateDnMat(&matrix, 7 - n, 2, 2, on_device(b, sizeof(b)), CUDA_R_32F,
				 CUSPARSE_ORDER_ROW) == CUSPARSE_STATUS_SUCCESS);
	TRUE(cusparseCreateDnMat(&result, n, 2, n, out, CUDA_R_32F, CUSPARSE_ORDER_COL) ==
	     CUSPARSE_STATUS_SUCCESS);
	TRUE(cusparseSpMM(handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, a, matrix, &beta,
			  result, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT,
			  NULL) == CUSPARSE_STATUS_SUCCESS);
	read_back(got, out, sizeof(got));
	for (int i = 0; i < n; i++)
		for (int j = 0; j < 2; j++) {
			float sum = 0;

			for (int k = 0; k < 7 - n; k++)
				sum += (n == 3 ? whole[i][k] : whole[k][i]) * b[2 * k + j];
			TRUE(fabsf(got[i + n * j] - (2 * sum - c[i + n * j])) < 1e-6);
		}
	TRUE(cusparseSpMM(handle, op, CUSPARSE_OPERATION_TRANSPOSE, &alpha, a, matrix, &beta,
			  result, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT,
			  NULL) == CUSPARSE_STATUS_INVALID_VALUE);
	if (coo) {
		int made[4], *to = on_device(offsets, sizeof(offsets));

		OK(cuMemsetD8((CUdeviceptr)to, 9, sizeof(made)));
		TRUE(cusparseXcoo2csr(handle, by_row, 3, 3, to, CUSPARSE_INDEX_BASE_ZERO) ==
		     CUSPARSE_STATUS_SUCCESS);
		read_back(made, to, sizeof(made));
		TRUE(memcmp(made, offsets, sizeof(made)) == 0);
	}
	TRUE(cusparseDestroySpMat(a) == CUSPARSE_STATUS_SUCCESS);
	TRUE(cusparseDestroyDnMat(matrix) == CUSPARSE_STATUS_SUCCESS);
	TRUE(cusparseDestroyDnMat(result) == CUSPARSE_STATUS_SUCCESS);
	TRUE(cusparseDestroy(handle) == CUSPARSE_STATUS_SUCCESS);
}

int main(void)
{
	use_device(0);
	OK(cuMemAlloc(&memory, 1 << 20));
	test_complex();
	test_real(0);
	test_real(1);
	test_batch();
	test_dense();
	for (int coo = 0; coo < 2; coo++) {
		test_sparse(coo, CUSPARSE_OPERATION_NON_TRANSPOSE);
		test_sparse(coo, CUSPARSE_OPERATION_TRANSPOSE);
	}
	return 0;
}
