/* SPDX-License-Identifier: Apache-2.0 */

/* cuSOLVER: orthogonal, singular value and eigenvalue decompositions. */
#include "replay/emugpu/cusolver/calls.h"

#include <string.h>

static cusolverStatus_t launch(cusolverDnHandle_t handle, struct emu_lapack l,
			       const int64_t strides[EMU_LAPACK_MATRICES], int *info, int64_t batch)
{
	struct emu_work work = {.kind = EMU_WORK_LAPACK,
				.lapack = {.l = l, .batch = batch, .info = info}};

	if (!handle)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (l.matrix[EMU_LAPACK_A].type == EMU_TYPES)
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	if (batch < 0 || !emu_lapack_valid(&l))
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (emu_lapack_load() < 0) {
		emu_refuse_use("libcusolver.so.12", "decompositions (need liblapack.so.3)");
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	}
	if (strides)
		memcpy(work.lapack.strides, strides, sizeof(work.lapack.strides));
	return emu_blas_launch(handle->stream, &work) == CUBLAS_STATUS_SUCCESS
		       ? CUSOLVER_STATUS_SUCCESS
		       : CUSOLVER_STATUS_EXECUTION_FAILED;
}

static enum emu_type real_of(enum emu_type type)
{
	return type == EMU_C32 ? EMU_F32 : type == EMU_C64 ? EMU_F64 : type;
}

cusolverStatus_t emu_cusolver_qr(cusolverDnHandle_t handle, enum emu_lapack_routine routine,
				 int64_t m, int64_t n, int64_t k, struct emu_matrix a,
				 const void *tau, int *info)
{
	struct emu_lapack l = {.routine = (uint8_t)routine, .m = m, .n = n, .k = k};

	l.matrix[EMU_LAPACK_A] = a;
	l.matrix[EMU_VALUES] = (struct emu_matrix){tau, a.type, 0, 1, 1};
	return launch(handle, l, NULL, info, 1);
}

cusolverStatus_t emu_cusolver_multiply_q(cusolverDnHandle_t handle, cublasSideMode_t side,
					 cublasOperation_t trans, int64_t m, int64_t n, int64_t k,
					 struct emu_matrix a, const void *tau, struct emu_matrix c,
					 int *info)
{
	struct emu_lapack l = {
		.routine = EMU_ORMQR,
		.first = side == CUBLAS_SIDE_LEFT ? 'L' : 'R',
		.second = trans == CUBLAS_OP_N ? 'N' : 'C',
		.m = m,
		.n = n,
		.k = k,
		.matrix = {a, c, [EMU_VALUES] = {tau, a.type, 0, 1, 1}},
	};

	return launch(handle, l, NULL, info, 1);
}

cusolverStatus_t emu_cusolver_svd(cusolverDnHandle_t handle, int u_job, int v_job, int64_t m,
				  int64_t n, struct emu_matrix a, const void *s,
				  struct emu_matrix u, struct emu_matrix v,
				  const int64_t strides[EMU_LAPACK_MATRICES], int *info,
				  int64_t batch)
{
	struct emu_lapack l = {
		.routine = EMU_GESVD,
		.first = (uint8_t)u_job,
		.second = (uint8_t)v_job,
		.m = m,
		.n = n,
		.matrix = {a, u, v, {s, real_of(a.type), 0, 1, 1}},
	};

	return launch(handle, l, strides, info, batch);
}

cusolverStatus_t emu_cusolver_svda(cusolverDnHandle_t handle, int all_job, int rank, int64_t m,
				   int64_t n, struct emu_matrix a, const void *s,
				   struct emu_matrix u, struct emu_matrix v,
				   const int64_t strides[EMU_LAPACK_MATRICES], int *info,
				   double *residuals, int64_t batch)
{
	if (rank != (m < n ? m : n)) {
		emu_refuse_use("libcusolver.so.12", "gesvdaStridedBatched (low rank)");
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	}
	if (residuals && batch > 0)
		memset(residuals, 0, (size_t)batch * sizeof(*residuals));
	return emu_cusolver_svd(handle, all_job, all_job, m, n, a, s, u, v, strides, info, batch);
}

cusolverStatus_t emu_cusolver_eigen(cusolverDnHandle_t handle, cusolverEigMode_t mode,
				    cublasFillMode_t uplo, int64_t n, struct emu_matrix a,
				    struct emu_matrix w, int *info, int64_t batch)
{
	struct emu_lapack l = {.routine = EMU_SYEV,
			       .first = JOB(mode, 'V'),
			       .second = emu_fill_letter(uplo),
			       .m = n,
			       .n = n};

	if (w.type != real_of(a.type))
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	l.matrix[EMU_LAPACK_A] = a;
	l.matrix[EMU_VALUES] = w;
	return launch(handle, l, STRIDES([EMU_LAPACK_A] = a.column * n, [EMU_VALUES] = n), info,
		      batch);
}

EMU_API cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t handle, cusolverDnParams_t params,
					 cusolverEigMode_t jobvl, cusolverEigMode_t jobvr,
					 int64_t n, cudaDataType dataTypeA, void *A, int64_t lda,
					 cudaDataType dataTypeW, void *W, cudaDataType dataTypeVL,
					 void *VL, int64_t ldvl, cudaDataType dataTypeVR, void *VR,
					 int64_t ldvr, cudaDataType computeType, void *on_device,
					 size_t device_bytes, void *on_host, size_t host_bytes,
					 int *info)
{
	struct emu_lapack l = {
		.routine = EMU_GEEV,
		.first = JOB(jobvl, 'V'),
		.second = JOB(jobvr, 'V'),
		.m = n,
		.n = n,
	};

	for (int i = 0; i < EMU_LAPACK_MATRICES; i++)
		l.matrix[i] = X_MATRIX(A, lda);
	l.matrix[EMU_LAPACK_U].data = VL;
	l.matrix[EMU_LAPACK_U].column = ldvl;
	l.matrix[EMU_LAPACK_V].data = VR;
	l.matrix[EMU_LAPACK_V].column = ldvr;
	l.matrix[EMU_VALUES].data = W;
	l.matrix[EMU_VALUES].column = 1;
	if (l.matrix[EMU_LAPACK_A].type == EMU_TYPES || dataTypeW != dataTypeA ||
	    (l.first == 'V' && dataTypeVL != dataTypeA) ||
	    (l.second == 'V' && dataTypeVR != dataTypeA)) {
		emu_refuse_use("libcusolver.so.12", "cusolverDnXgeev (these types)");
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	}
	return launch(handle, l, NULL, info, 1);
}
