/* SPDX-License-Identifier: Apache-2.0 */

/* cuSOLVER: orthogonal, singular value and eigenvalue decompositions. LAPACK allocates its own
 * workspace. Tolerances and numbers of sweeps have no effect: results are exact up to rounding. */
#include "replay/emugpu/lib/blas.h"
#include "replay/emugpu/refuse.h"

#include <cusolverDn.h>

#include <string.h>

static cusolverStatus_t launch(cusolverDnHandle_t handle, struct emu_lapack_work w)
{
	struct emu_work work = {.kind = EMU_WORK_LAPACK};
	cudaStream_t stream;

	if (cusolverDnGetStream(handle, &stream) != CUSOLVER_STATUS_SUCCESS)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (w.batch < 0 || !emu_lapack_valid(&w.l))
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (emu_lapack_load() < 0) {
		emu_refuse_use("libcusolver.so.12", "decompositions (need liblapack.so.3)");
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	}
	work.lapack = w;
	return emu_blas_launch(stream, &work) == CUBLAS_STATUS_SUCCESS
		       ? CUSOLVER_STATUS_SUCCESS
		       : CUSOLVER_STATUS_EXECUTION_FAILED;
}

static struct emu_matrix matrix(const void *data, enum emu_type type, int64_t ld)
{
	return (struct emu_matrix){data, type, 0, 1, ld};
}

/* V, stored as the conjugate transpose of LAPACK's V^T. */
static struct emu_matrix transposed(const void *data, enum emu_type type, int64_t ld)
{
	return (struct emu_matrix){data, type, 1, ld, 1};
}

static uint8_t job(cusolverEigMode_t mode, uint8_t vectors)
{
	return mode == CUSOLVER_EIG_MODE_VECTOR ? vectors : 'N';
}

static uint8_t fill_of(cublasFillMode_t uplo)
{
	return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U';
}

static enum emu_type real_of(enum emu_type type)
{
	return type == EMU_C32 ? EMU_F32 : type == EMU_C64 ? EMU_F64 : type;
}

static struct emu_lapack svd(uint8_t u_job, uint8_t v_job, int64_t m, int64_t n,
			     struct emu_matrix a, const void *s, struct emu_matrix u,
			     struct emu_matrix v)
{
	return (struct emu_lapack){.routine = EMU_GESVD,
				   .first = u_job,
				   .second = v_job,
				   .m = m,
				   .n = n,
				   .matrix = {a, u, v, matrix(s, real_of(a.type), 1)}};
}

static cusolverStatus_t eigen(cusolverDnHandle_t handle, cusolverEigMode_t mode,
			      cublasFillMode_t uplo, int64_t n, struct emu_matrix a, const void *w,
			      int *info, int64_t batch)
{
	struct emu_lapack l = {.routine = EMU_SYEV,
			       .first = job(mode, 'V'),
			       .second = fill_of(uplo),
			       .m = n,
			       .n = n};

	l.matrix[EMU_LAPACK_A] = a;
	l.matrix[EMU_VALUES] = matrix(w, real_of(a.type), 1);
	return launch(handle, (struct emu_lapack_work){
				      .l = l,
				      .batch = batch,
				      .strides = {[EMU_LAPACK_A] = a.column * n, [EMU_VALUES] = n},
				      .info = info});
}

static cusolverStatus_t reflectors(cusolverDnHandle_t handle, enum emu_lapack_routine routine,
				   int64_t m, int64_t n, int64_t k, struct emu_matrix a,
				   const void *tau, int *info)
{
	struct emu_lapack l = {.routine = (uint8_t)routine, .m = m, .n = n, .k = k};

	l.matrix[EMU_LAPACK_A] = a;
	l.matrix[EMU_VALUES] = matrix(tau, a.type, 1);
	return launch(handle, (struct emu_lapack_work){.l = l, .batch = 1, .info = info});
}

/* ---- of one element type ---- */

static cusolverStatus_t no_workspace(int *lwork)
{
	if (!lwork)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*lwork = 1;
	return CUSOLVER_STATUS_SUCCESS;
}

#define SIZE(name, parameters)                                                                     \
	EMU_API cusolverStatus_t cusolverDn##name##_bufferSize parameters                          \
	{                                                                                          \
		return no_workspace(lwork);                                                        \
	}

/* The prefixes of Q and of symmetric matrices are those of LAPACK. */
#define FUNCTIONS(x, q, sy, T, real, type)                                                         \
	SIZE(x##geqrf, (cusolverDnHandle_t handle, int m, int n, T *A, int lda, int *lwork))       \
	EMU_API cusolverStatus_t cusolverDn##x##geqrf(cusolverDnHandle_t handle, int m, int n,     \
						      T *A, int lda, T *tau, T *work, int lwork,   \
						      int *info)                                   \
	{                                                                                          \
		return reflectors(handle, EMU_GEQRF, m, n, 0, matrix(A, type, lda), tau, info);    \
	}                                                                                          \
	SIZE(x##q##gqr, (cusolverDnHandle_t handle, int m, int n, int k, const T *A, int lda,      \
			 const T *tau, int *lwork))                                                \
	EMU_API cusolverStatus_t cusolverDn##x##q##gqr(cusolverDnHandle_t handle, int m, int n,    \
						       int k, T *A, int lda, const T *tau,         \
						       T *work, int lwork, int *info)              \
	{                                                                                          \
		return reflectors(handle, EMU_ORGQR, m, n, k, matrix(A, type, lda), tau, info);    \
	}                                                                                          \
	SIZE(x##q##mqr,                                                                            \
	     (cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans, int m,    \
	      int n, int k, const T *A, int lda, const T *tau, const T *C, int ldc, int *lwork))   \
	EMU_API cusolverStatus_t cusolverDn##x##q##mqr(                                            \
		cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t trans, int m,  \
		int n, int k, const T *A, int lda, const T *tau, T *C, int ldc, T *work,           \
		int lwork, int *info)                                                              \
	{                                                                                          \
		struct emu_lapack l = {                                                            \
			.routine = EMU_ORMQR,                                                      \
			.first = side == CUBLAS_SIDE_LEFT ? 'L' : 'R',                             \
			.second = trans == CUBLAS_OP_N ? 'N' : 'C',                                \
			.m = m,                                                                    \
			.n = n,                                                                    \
			.k = k,                                                                    \
			.matrix = {matrix(A, type, lda),                                           \
				   matrix(C, type, ldc), [EMU_VALUES] = matrix(tau, type, 1)},     \
		};                                                                                 \
                                                                                                   \
		return launch(handle, (struct emu_lapack_work){.l = l, .batch = 1, .info = info}); \
	}                                                                                          \
	SIZE(x##gesvd, (cusolverDnHandle_t handle, int m, int n, int *lwork))                      \
	EMU_API cusolverStatus_t cusolverDn##x##gesvd(                                             \
		cusolverDnHandle_t handle, signed char jobu, signed char jobvt, int m, int n,      \
		T *A, int lda, real *S, T *U, int ldu, T *VT, int ldvt, T *work, int lwork,        \
		real *rwork, int *info)                                                            \
	{                                                                                          \
		struct emu_lapack l =                                                              \
			svd((uint8_t)jobu, (uint8_t)jobvt, m, n, matrix(A, type, lda), S,          \
			    matrix(U, type, ldu), matrix(VT, type, ldvt));                         \
                                                                                                   \
		return launch(handle, (struct emu_lapack_work){.l = l, .batch = 1, .info = info}); \
	}                                                                                          \
	SIZE(x##gesvdj, (cusolverDnHandle_t handle, cusolverEigMode_t jobz, int econ, int m,       \
			 int n, const T *A, int lda, const real *S, const T *U, int ldu,           \
			 const T *V, int ldv, int *lwork, gesvdjInfo_t params))                    \
	EMU_API cusolverStatus_t cusolverDn##x##gesvdj(                                            \
		cusolverDnHandle_t handle, cusolverEigMode_t jobz, int econ, int m, int n, T *A,   \
		int lda, real *S, T *U, int ldu, T *V, int ldv, T *work, int lwork, int *info,     \
		gesvdjInfo_t params)                                                               \
	{                                                                                          \
		uint8_t all = job(jobz, econ ? 'S' : 'A');                                         \
		struct emu_lapack l = svd(all, all, m, n, matrix(A, type, lda), S,                 \
					  matrix(U, type, ldu), transposed(V, type, ldv));         \
                                                                                                   \
		return launch(handle, (struct emu_lapack_work){.l = l, .batch = 1, .info = info}); \
	}                                                                                          \
	SIZE(x##gesvdjBatched,                                                                     \
	     (cusolverDnHandle_t handle, cusolverEigMode_t jobz, int m, int n, const T *A,         \
	      int lda, const real *S, const T *U, int ldu, const T *V, int ldv, int *lwork,        \
	      gesvdjInfo_t params, int batchSize))                                                 \
	EMU_API cusolverStatus_t cusolverDn##x##gesvdjBatched(                                     \
		cusolverDnHandle_t handle, cusolverEigMode_t jobz, int m, int n, T *A, int lda,    \
		real *S, T *U, int ldu, T *V, int ldv, T *work, int lwork, int *info,              \
		gesvdjInfo_t params, int batchSize)                                                \
	{                                                                                          \
		uint8_t all = job(jobz, 'A');                                                      \
		struct emu_lapack l = svd(all, all, m, n, matrix(A, type, lda), S,                 \
					  matrix(U, type, ldu), transposed(V, type, ldv));         \
                                                                                                   \
		return launch(handle, (struct emu_lapack_work){                                    \
					      .l = l,                                              \
					      .batch = batchSize,                                  \
					      .strides = {(int64_t)lda * n, (int64_t)ldu * m,      \
							  (int64_t)ldv * n, m < n ? m : n},        \
					      .info = info});                                      \
	}                                                                                          \
	SIZE(x##gesvdaStridedBatched,                                                              \
	     (cusolverDnHandle_t handle, cusolverEigMode_t jobz, int rank, int m, int n,           \
	      const T *A, int lda, long long strideA, const real *S, long long strideS,            \
	      const T *U, int ldu, long long strideU, const T *V, int ldv, long long strideV,      \
	      int *lwork, int batchSize))                                                          \
	EMU_API cusolverStatus_t cusolverDn##x##gesvdaStridedBatched(                              \
		cusolverDnHandle_t handle, cusolverEigMode_t jobz, int rank, int m, int n,         \
		const T *A, int lda, long long strideA, real *S, long long strideS, T *U, int ldu, \
		long long strideU, T *V, int ldv, long long strideV, T *work, int lwork,           \
		int *info, double *residuals, int batchSize)                                       \
	{                                                                                          \
		uint8_t all = job(jobz, 'S');                                                      \
		struct emu_lapack l = svd(all, all, m, n, matrix(A, type, lda), S,                 \
					  matrix(U, type, ldu), transposed(V, type, ldv));         \
                                                                                                   \
		if (rank != (m < n ? m : n)) {                                                     \
			emu_refuse_use("libcusolver.so.12", "gesvdaStridedBatched (low rank)");    \
			return CUSOLVER_STATUS_NOT_SUPPORTED;                                      \
		}                                                                                  \
		if (residuals && batchSize > 0)                                                    \
			memset(residuals, 0, (size_t)batchSize * sizeof(*residuals));              \
		return launch(handle, (struct emu_lapack_work){                                    \
					      .l = l,                                              \
					      .batch = batchSize,                                  \
					      .strides = {strideA, strideU, strideV, strideS},     \
					      .info = info});                                      \
	}                                                                                          \
	SIZE(x##sy##evd,                                                                           \
	     (cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n,     \
	      const T *A, int lda, const real *W, int *lwork))                                     \
	EMU_API cusolverStatus_t cusolverDn##x##sy##evd(                                           \
		cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n,   \
		T *A, int lda, real *W, T *work, int lwork, int *info)                             \
	{                                                                                          \
		return eigen(handle, jobz, uplo, n, matrix(A, type, lda), W, info, 1);             \
	}                                                                                          \
	SIZE(x##sy##evjBatched,                                                                    \
	     (cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n,     \
	      const T *A, int lda, const real *W, int *lwork, syevjInfo_t params, int batchSize))  \
	EMU_API cusolverStatus_t cusolverDn##x##sy##evjBatched(                                    \
		cusolverDnHandle_t handle, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n,   \
		T *A, int lda, real *W, T *work, int lwork, int *info, syevjInfo_t params,         \
		int batchSize)                                                                     \
	{                                                                                          \
		return eigen(handle, jobz, uplo, n, matrix(A, type, lda), W, info, batchSize);     \
	}

FUNCTIONS(S, or, sy, float, float, EMU_F32)
FUNCTIONS(D, or, sy, double, double, EMU_F64)
FUNCTIONS(C, un, he, cuComplex, float, EMU_C32)
FUNCTIONS(Z, un, he, cuDoubleComplex, double, EMU_C64)

/* ---- of any type ---- */

#define X_SIZE(name, parameters)                                                                   \
	EMU_API cusolverStatus_t cusolverDnX##name##_bufferSize parameters                         \
	{                                                                                          \
		if (!device_bytes || !host_bytes)                                                  \
			return CUSOLVER_STATUS_INVALID_VALUE;                                      \
		*device_bytes = *host_bytes = 1;                                                   \
		return CUSOLVER_STATUS_SUCCESS;                                                    \
	}

X_SIZE(geqrf, (cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
	       cudaDataType dataTypeA, const void *A, int64_t lda, cudaDataType dataTypeTau,
	       const void *tau, cudaDataType computeType, size_t *device_bytes, size_t *host_bytes))

EMU_API cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params,
					  int64_t m, int64_t n, cudaDataType dataTypeA, void *A,
					  int64_t lda, cudaDataType dataTypeTau, void *tau,
					  cudaDataType computeType, void *on_device,
					  size_t device_bytes, void *on_host, size_t host_bytes,
					  int *info)
{
	enum emu_type type;

	if (emu_type_of(dataTypeA, &type) < 0 || dataTypeTau != dataTypeA)
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	return reflectors(handle, EMU_GEQRF, m, n, 0, matrix(A, type, lda), tau, info);
}

X_SIZE(syevd, (cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t jobz,
	       cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA, const void *A, int64_t lda,
	       cudaDataType dataTypeW, const void *W, cudaDataType computeType,
	       size_t *device_bytes, size_t *host_bytes))
X_SIZE(syevBatched, (cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t jobz,
		     cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA, const void *A,
		     int64_t lda, cudaDataType dataTypeW, const void *W, cudaDataType computeType,
		     size_t *device_bytes, size_t *host_bytes, int64_t batchSize))

EMU_API cusolverStatus_t cusolverDnXsyevBatched(
	cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t jobz,
	cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA, void *A, int64_t lda,
	cudaDataType dataTypeW, void *W, cudaDataType computeType, void *on_device,
	size_t device_bytes, void *on_host, size_t host_bytes, int *info, int64_t batchSize)
{
	enum emu_type type, real;

	if (emu_type_of(dataTypeA, &type) < 0 || emu_type_of(dataTypeW, &real) < 0 ||
	    real != real_of(type))
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	return eigen(handle, jobz, uplo, n, matrix(A, type, lda), W, info, batchSize);
}

EMU_API cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
					  cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n,
					  cudaDataType dataTypeA, void *A, int64_t lda,
					  cudaDataType dataTypeW, void *W, cudaDataType computeType,
					  void *on_device, size_t device_bytes, void *on_host,
					  size_t host_bytes, int *info)
{
	return cusolverDnXsyevBatched(handle, params, jobz, uplo, n, dataTypeA, A, lda, dataTypeW,
				      W, computeType, on_device, device_bytes, on_host, host_bytes,
				      info, 1);
}

X_SIZE(geev, (cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t jobvl,
	      cusolverEigMode_t jobvr, int64_t n, cudaDataType dataTypeA, const void *A,
	      int64_t lda, cudaDataType dataTypeW, const void *W, cudaDataType dataTypeVL,
	      const void *VL, int64_t ldvl, cudaDataType dataTypeVR, const void *VR, int64_t ldvr,
	      cudaDataType computeType, size_t *device_bytes, size_t *host_bytes))

EMU_API cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t handle, cusolverDnParams_t params,
					 cusolverEigMode_t jobvl, cusolverEigMode_t jobvr,
					 int64_t n, cudaDataType dataTypeA, void *A, int64_t lda,
					 cudaDataType dataTypeW, void *W, cudaDataType dataTypeVL,
					 void *VL, int64_t ldvl, cudaDataType dataTypeVR, void *VR,
					 int64_t ldvr, cudaDataType computeType, void *on_device,
					 size_t device_bytes, void *on_host, size_t host_bytes,
					 int *info)
{
	struct emu_lapack l = {.routine = EMU_GEEV,
			       .first = job(jobvl, 'V'),
			       .second = job(jobvr, 'V'),
			       .m = n,
			       .n = n};
	enum emu_type a;

	if (emu_type_of(dataTypeA, &a) < 0 || dataTypeW != dataTypeA ||
	    (l.first == 'V' && dataTypeVL != dataTypeA) ||
	    (l.second == 'V' && dataTypeVR != dataTypeA)) {
		emu_refuse_use("libcusolver.so.12", "cusolverDnXgeev (these types)");
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	}
	l.matrix[EMU_LAPACK_A] = matrix(A, a, lda);
	l.matrix[EMU_LAPACK_U] = matrix(VL, a, ldvl);
	l.matrix[EMU_LAPACK_V] = matrix(VR, a, ldvr);
	l.matrix[EMU_VALUES] = matrix(W, a, 1);
	return launch(handle, (struct emu_lapack_work){.l = l, .batch = 1, .info = info});
}
