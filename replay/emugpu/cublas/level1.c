/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/vector.h"

#define V(data, increment, x) ((struct emu_strided){data, increment, x})
#define NONE ((struct emu_strided){NULL, 0, EMU_F32})

#define AXPY(letter, type, x, suffix, I)                                                           \
	EMU_API cublasStatus_t cublas##letter##axpy_v2##suffix(cublasHandle_t handle, I n,         \
							       const type *alpha, const type *X,   \
							       I incx, type *y, I incy)            \
	{                                                                                          \
		return emu_map_launch(handle, EMU_AXPY, n, alpha, x, NULL, x, V(X, incx, x),       \
				      V(y, incy, x));                                              \
	}

#define COPY(letter, type, x, suffix, I)                                                           \
	EMU_API cublasStatus_t cublas##letter##copy_v2##suffix(                                    \
		cublasHandle_t handle, I n, const type *X, I incx, type *y, I incy)                \
	{                                                                                          \
		return emu_map_launch(handle, EMU_COPY, n, NULL, x, NULL, x, V(X, incx, x),        \
				      V(y, incy, x));                                              \
	}

#define SWAP(letter, type, x, suffix, I)                                                           \
	EMU_API cublasStatus_t cublas##letter##swap_v2##suffix(cublasHandle_t handle, I n,         \
							       type *X, I incx, type *y, I incy)   \
	{                                                                                          \
		return emu_map_launch(handle, EMU_SWAP, n, NULL, x, NULL, x, V(X, incx, x),        \
				      V(y, incy, x));                                              \
	}

EMU_ALL(AXPY)
EMU_ALL(COPY)
EMU_ALL(SWAP)

/* Scaling by a scalar of the vector's type, or a real scalar. */
#define SCAL(name, type, x, scalar, s, suffix, I)                                                  \
	EMU_API cublasStatus_t cublas##name##_v2##suffix(cublasHandle_t handle, I n,               \
							 const scalar *alpha, type *X, I incx)     \
	{                                                                                          \
		return emu_map_launch(handle, EMU_SCAL, n, alpha, s, NULL, s, V(X, incx, x),       \
				      NONE);                                                       \
	}

#define SCALS(suffix, I)                                                                           \
	SCAL(Sscal, float, EMU_F32, float, EMU_F32, suffix, I)                                     \
	SCAL(Dscal, double, EMU_F64, double, EMU_F64, suffix, I)                                   \
	SCAL(Cscal, cuComplex, EMU_C32, cuComplex, EMU_C32, suffix, I)                             \
	SCAL(Zscal, cuDoubleComplex, EMU_C64, cuDoubleComplex, EMU_C64, suffix, I)                 \
	SCAL(Csscal, cuComplex, EMU_C32, float, EMU_F32, suffix, I)                                \
	SCAL(Zdscal, cuDoubleComplex, EMU_C64, double, EMU_F64, suffix, I)

EMU_SIZES(SCALS)

#define ROT(name, type, x, cosine, c_type, sine, s_type, suffix, I)                                \
	EMU_API cublasStatus_t cublas##name##_v2##suffix(cublasHandle_t handle, I n, type *X,      \
							 I incx, type *y, I incy, const cosine *c, \
							 const sine *s)                            \
	{                                                                                          \
		return emu_map_launch(handle, EMU_ROT, n, c, c_type, s, s_type, V(X, incx, x),     \
				      V(y, incy, x));                                              \
	}

#define ROTS(suffix, I)                                                                            \
	ROT(Srot, float, EMU_F32, float, EMU_F32, float, EMU_F32, suffix, I)                       \
	ROT(Drot, double, EMU_F64, double, EMU_F64, double, EMU_F64, suffix, I)                    \
	ROT(Crot, cuComplex, EMU_C32, float, EMU_F32, cuComplex, EMU_C32, suffix, I)               \
	ROT(Csrot, cuComplex, EMU_C32, float, EMU_F32, float, EMU_F32, suffix, I)                  \
	ROT(Zrot, cuDoubleComplex, EMU_C64, double, EMU_F64, cuDoubleComplex, EMU_C64, suffix, I)  \
	ROT(Zdrot, cuDoubleComplex, EMU_C64, double, EMU_F64, double, EMU_F64, suffix, I)

EMU_SIZES(ROTS)

/* Two vectors to a scalar. */
#define DOT(name, fold, type, x, suffix, I)                                                        \
	EMU_API cublasStatus_t cublas##name##_v2##suffix(cublasHandle_t handle, I n,               \
							 const type *X, I incx, const type *y,     \
							 I incy, type *result)                     \
	{                                                                                          \
		return emu_fold_launch(handle, fold, n, V(X, incx, x), V(y, incy, x), result, x);  \
	}

#define DOTS(suffix, I)                                                                            \
	DOT(Sdot, EMU_DOT, float, EMU_F32, suffix, I)                                              \
	DOT(Ddot, EMU_DOT, double, EMU_F64, suffix, I)                                             \
	DOT(Cdotu, EMU_DOT, cuComplex, EMU_C32, suffix, I)                                         \
	DOT(Cdotc, EMU_DOTC, cuComplex, EMU_C32, suffix, I)                                        \
	DOT(Zdotu, EMU_DOT, cuDoubleComplex, EMU_C64, suffix, I)                                   \
	DOT(Zdotc, EMU_DOTC, cuDoubleComplex, EMU_C64, suffix, I)

EMU_SIZES(DOTS)

/* Reduces one vector to a scalar, or to the index of an element. */
#define FOLD(name, fold, type, x, ret, ret_type, suffix, I)                                        \
	EMU_API cublasStatus_t cublas##name##_v2##suffix(cublasHandle_t handle, I n,               \
							 const type *X, I incx, ret *result)       \
	{                                                                                          \
		return emu_fold_launch(handle, fold, n, V(X, incx, x), NONE, result, ret_type);    \
	}

#define FOLDS(s, d, c, z, fold, suffix, I)                                                         \
	FOLD(s, fold, float, EMU_F32, float, EMU_F32, suffix, I)                                   \
	FOLD(d, fold, double, EMU_F64, double, EMU_F64, suffix, I)                                 \
	FOLD(c, fold, cuComplex, EMU_C32, float, EMU_F32, suffix, I)                               \
	FOLD(z, fold, cuDoubleComplex, EMU_C64, double, EMU_F64, suffix, I)

#define EXTREMES(s, d, c, z, fold, integer, suffix, I)                                             \
	FOLD(s, fold, float, EMU_F32, I, integer, suffix, I)                                       \
	FOLD(d, fold, double, EMU_F64, I, integer, suffix, I)                                      \
	FOLD(c, fold, cuComplex, EMU_C32, I, integer, suffix, I)                                   \
	FOLD(z, fold, cuDoubleComplex, EMU_C64, I, integer, suffix, I)

FOLDS(Snrm2, Dnrm2, Scnrm2, Dznrm2, EMU_NRM2, , int)
FOLDS(Snrm2, Dnrm2, Scnrm2, Dznrm2, EMU_NRM2, _64, int64_t)
FOLDS(Sasum, Dasum, Scasum, Dzasum, EMU_ASUM, , int)
FOLDS(Sasum, Dasum, Scasum, Dzasum, EMU_ASUM, _64, int64_t)
EXTREMES(Isamax, Idamax, Icamax, Izamax, EMU_IAMAX, EMU_I32, , int)
EXTREMES(Isamax, Idamax, Icamax, Izamax, EMU_IAMAX, EMU_I64, _64, int64_t)
EXTREMES(Isamin, Idamin, Icamin, Izamin, EMU_IAMIN, EMU_I32, , int)
EXTREMES(Isamin, Idamin, Icamin, Izamin, EMU_IAMIN, EMU_I64, _64, int64_t)
