/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/vector.h"

/* Vector operations with types as arguments. */
static cublasStatus_t map_vector(cublasHandle_t handle, enum emu_map map, int64_t n,
				 const void *alpha, cudaDataType alpha_type, const void *x,
				 cudaDataType x_type, int64_t incx, void *y, cudaDataType y_type,
				 int64_t incy)
{
	struct emu_strided u = {x, incx, EMU_F32}, v = {y, incy, EMU_F32};
	enum emu_type scalar;

	if (emu_type_of(x_type, &u.type) < 0 || emu_type_of(y_type, &v.type) < 0 ||
	    emu_type_of(alpha_type, &scalar) < 0)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return emu_map_launch(handle, map, n, alpha, scalar, NULL, scalar, u, v);
}

static cublasStatus_t reduce_vectors(cublasHandle_t handle, enum emu_fold fold, int64_t n,
				     const void *x, cudaDataType x_type, int64_t incx,
				     const void *y, cudaDataType y_type, int64_t incy, void *result,
				     cudaDataType result_type)
{
	struct emu_strided u = {x, incx, EMU_F32}, v = {y, incy, EMU_F32};
	enum emu_type type;

	if (emu_type_of(x_type, &u.type) < 0 || emu_type_of(y_type, &v.type) < 0 ||
	    emu_type_of(result_type, &type) < 0)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return emu_fold_launch(handle, fold, n, u, v, result, type);
}

#define TWO_MAP(name, operation, in, suffix, I)                                                    \
	EMU_API cublasStatus_t cublas##name##suffix(cublasHandle_t handle, I n, in void *x,        \
						    cudaDataType xType, I incx, void *y,           \
						    cudaDataType yType, I incy)                    \
	{                                                                                          \
		return map_vector(handle, operation, n, NULL, xType, x, xType, incx, y, yType,     \
				  incy);                                                           \
	}

#define MAPS(suffix, I)                                                                            \
	EMU_API cublasStatus_t cublasAxpyEx##suffix(                                               \
		cublasHandle_t handle, I n, const void *alpha, cudaDataType alphaType,             \
		const void *x, cudaDataType xType, I incx, void *y, cudaDataType yType, I incy,    \
		cudaDataType executiontype)                                                        \
	{                                                                                          \
		return map_vector(handle, EMU_AXPY, n, alpha, alphaType, x, xType, incx, y, yType, \
				  incy);                                                           \
	}                                                                                          \
	EMU_API cublasStatus_t cublasScalEx##suffix(                                               \
		cublasHandle_t handle, I n, const void *alpha, cudaDataType alphaType, void *x,    \
		cudaDataType xType, I incx, cudaDataType executionType)                            \
	{                                                                                          \
		return map_vector(handle, EMU_SCAL, n, alpha, alphaType, x, xType, incx, NULL,     \
				  xType, 0);                                                       \
	}                                                                                          \
	TWO_MAP(CopyEx, EMU_COPY, const, suffix, I)                                                \
	TWO_MAP(SwapEx, EMU_SWAP, , suffix, I)

EMU_SIZES(MAPS)

#define DOT(name, operation, suffix, I)                                                            \
	EMU_API cublasStatus_t cublas##name##suffix(                                               \
		cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx,             \
		const void *y, cudaDataType yType, I incy, void *result, cudaDataType resultType,  \
		cudaDataType executionType)                                                        \
	{                                                                                          \
		return reduce_vectors(handle, operation, n, x, xType, incx, y, yType, incy,        \
				      result, resultType);                                         \
	}

#define NORM(name, operation, suffix, I)                                                           \
	EMU_API cublasStatus_t cublas##name##suffix(                                               \
		cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx,             \
		void *result, cudaDataType resultType, cudaDataType executionType)                 \
	{                                                                                          \
		return reduce_vectors(handle, operation, n, x, xType, incx, NULL, xType, 0,        \
				      result, resultType);                                         \
	}

#define EXTREME(name, operation, suffix, I, integer)                                               \
	EMU_API cublasStatus_t cublas##name##suffix(cublasHandle_t handle, I n, const void *x,     \
						    cudaDataType xType, I incx, I *result)         \
	{                                                                                          \
		return reduce_vectors(handle, operation, n, x, xType, incx, NULL, xType, 0,        \
				      result, integer);                                            \
	}

#define FOLDS(suffix, I, integer)                                                                  \
	DOT(DotEx, EMU_DOT, suffix, I)                                                             \
	DOT(DotcEx, EMU_DOTC, suffix, I)                                                           \
	NORM(Nrm2Ex, EMU_NRM2, suffix, I)                                                          \
	NORM(AsumEx, EMU_ASUM, suffix, I)                                                          \
	EXTREME(IamaxEx, EMU_IAMAX, suffix, I, integer)                                            \
	EXTREME(IaminEx, EMU_IAMIN, suffix, I, integer)

FOLDS(, int, CUDA_R_32I)
FOLDS(_64, int64_t, CUDA_R_64I)
