/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/vector.h"

/* Vector operations with types as arguments. */
static cublasStatus_t map(cublasHandle_t handle, enum emu_map map, int64_t n, const void *alpha,
			  cudaDataType alpha_type, const void *x, cudaDataType x_type, int64_t incx,
			  void *y, cudaDataType y_type, int64_t incy)
{
	struct emu_strided u = {x, incx, EMU_F32}, v = {y, incy, EMU_F32};
	enum emu_type scalar;

	if (emu_type_of(x_type, &u.type) < 0 || emu_type_of(y_type, &v.type) < 0 ||
	    emu_type_of(alpha_type, &scalar) < 0)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return emu_map_launch(handle, map, n, alpha, scalar, NULL, scalar, u, v);
}

static cublasStatus_t fold(cublasHandle_t handle, enum emu_fold fold, int64_t n, const void *x,
			   cudaDataType x_type, int64_t incx, const void *y, cudaDataType y_type,
			   int64_t incy, void *result, cudaDataType result_type)
{
	struct emu_strided u = {x, incx, EMU_F32}, v = {y, incy, EMU_F32};
	enum emu_type type;

	if (emu_type_of(x_type, &u.type) < 0 || emu_type_of(y_type, &v.type) < 0 ||
	    emu_type_of(result_type, &type) < 0)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return emu_fold_launch(handle, fold, n, u, v, result, type);
}

#define MAPS(suffix, I)                                                                            \
	EMU_API cublasStatus_t cublasAxpyEx##suffix(                                               \
		cublasHandle_t handle, I n, const void *alpha, cudaDataType alphaType,             \
		const void *x, cudaDataType xType, I incx, void *y, cudaDataType yType, I incy,    \
		cudaDataType executiontype)                                                        \
	{                                                                                          \
		(void)executiontype;                                                               \
		return map(handle, EMU_AXPY, n, alpha, alphaType, x, xType, incx, y, yType, incy); \
	}                                                                                          \
	EMU_API cublasStatus_t cublasScalEx##suffix(                                               \
		cublasHandle_t handle, I n, const void *alpha, cudaDataType alphaType, void *x,    \
		cudaDataType xType, I incx, cudaDataType executionType)                            \
	{                                                                                          \
		(void)executionType;                                                               \
		return map(handle, EMU_SCAL, n, alpha, alphaType, x, xType, incx, NULL, xType, 0); \
	}                                                                                          \
	EMU_API cublasStatus_t cublasCopyEx##suffix(cublasHandle_t handle, I n, const void *x,     \
						    cudaDataType xType, I incx, void *y,           \
						    cudaDataType yType, I incy)                    \
	{                                                                                          \
		return map(handle, EMU_COPY, n, NULL, xType, x, xType, incx, y, yType, incy);      \
	}                                                                                          \
	EMU_API cublasStatus_t cublasSwapEx##suffix(cublasHandle_t handle, I n, void *x,           \
						    cudaDataType xType, I incx, void *y,           \
						    cudaDataType yType, I incy)                    \
	{                                                                                          \
		return map(handle, EMU_SWAP, n, NULL, xType, x, xType, incx, y, yType, incy);      \
	}

EMU_SIZES(MAPS)

#define FOLDS(suffix, I, integer)                                                                  \
	EMU_API cublasStatus_t cublasDotEx##suffix(                                                \
		cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx,             \
		const void *y, cudaDataType yType, I incy, void *result, cudaDataType resultType,  \
		cudaDataType executionType)                                                        \
	{                                                                                          \
		(void)executionType;                                                               \
		return fold(handle, EMU_DOT, n, x, xType, incx, y, yType, incy, result,            \
			    resultType);                                                           \
	}                                                                                          \
	EMU_API cublasStatus_t cublasDotcEx##suffix(                                               \
		cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx,             \
		const void *y, cudaDataType yType, I incy, void *result, cudaDataType resultType,  \
		cudaDataType executionType)                                                        \
	{                                                                                          \
		(void)executionType;                                                               \
		return fold(handle, EMU_DOTC, n, x, xType, incx, y, yType, incy, result,           \
			    resultType);                                                           \
	}                                                                                          \
	EMU_API cublasStatus_t cublasNrm2Ex##suffix(                                               \
		cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx,             \
		void *result, cudaDataType resultType, cudaDataType executionType)                 \
	{                                                                                          \
		(void)executionType;                                                               \
		return fold(handle, EMU_NRM2, n, x, xType, incx, NULL, xType, 0, result,           \
			    resultType);                                                           \
	}                                                                                          \
	EMU_API cublasStatus_t cublasAsumEx##suffix(                                               \
		cublasHandle_t handle, I n, const void *x, cudaDataType xType, I incx,             \
		void *result, cudaDataType resultType, cudaDataType executiontype)                 \
	{                                                                                          \
		(void)executiontype;                                                               \
		return fold(handle, EMU_ASUM, n, x, xType, incx, NULL, xType, 0, result,           \
			    resultType);                                                           \
	}                                                                                          \
	EMU_API cublasStatus_t cublasIamaxEx##suffix(cublasHandle_t handle, I n, const void *x,    \
						     cudaDataType xType, I incx, I *result)        \
	{                                                                                          \
		return fold(handle, EMU_IAMAX, n, x, xType, incx, NULL, xType, 0, result,          \
			    integer);                                                              \
	}                                                                                          \
	EMU_API cublasStatus_t cublasIaminEx##suffix(cublasHandle_t handle, I n, const void *x,    \
						     cudaDataType xType, I incx, I *result)        \
	{                                                                                          \
		return fold(handle, EMU_IAMIN, n, x, xType, incx, NULL, xType, 0, result,          \
			    integer);                                                              \
	}

FOLDS(, int, CUDA_R_32I)
FOLDS(_64, int64_t, CUDA_R_64I)
