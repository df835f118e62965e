/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by the libraries of linear algebra: kernels, types, status names. */
#pragma once

#include "replay/emugpu/lib/gpu.h"
#include "replay/emugpu/lib/work.h"
#include "replay/emugpu/refuse.h"

#include <cublas_v2.h>

/* Returns 0, or -ENOTSUP for an unsupported type. */
int emu_type_of(cudaDataType type, enum emu_type *ret);

/* Returns EMU_TYPES for an unsupported type. */
enum emu_type emu_type_or_none(cudaDataType type);

/* Maps a cuBLAS compute type to the type of computation; `is_complex` for complex matrices. */
int emu_compute_of(cublasComputeType_t type, int is_complex, enum emu_type *ret);

/* Returns 1 if a product runs on tensor cores. `math` is the handle's mode, `a` the type of A. */
int emu_uses_tensor(cublasComputeType_t type, cublasMath_t math, enum emu_type a);

/* Returns a matrix with the strides of op(A), from its BLAS description. */
struct emu_matrix emu_matrix_of(const void *data, enum emu_type type, int64_t ld,
				cublasOperation_t op);

/* Returns alpha or beta: its value if in host memory, else its device address. */
struct emu_scalar emu_scalar_of(const void *at, enum emu_type type, int on_device);

/* Launches `work` as one kernel on `stream`. */
cublasStatus_t emu_blas_launch(CUstream stream, const struct emu_work *work);

cublasStatus_t emu_blas_status(CUresult r);

/* Return "CUBLAS_STATUS_SUCCESS", and its description. */
const char *emu_blas_status_name(cublasStatus_t status);
const char *emu_blas_status_text(cublasStatus_t status);

/* For expressions of forward.txt: the element type that a pointer points to; uint16_t stands for
 * __half. */
/* clang-format off */
#define TYPE(pointer)                                                                              \
	_Generic(*(pointer), uint16_t: EMU_F16, float: EMU_F32, double: EMU_F64,                   \
		 cuComplex: EMU_C32, cuDoubleComplex: EMU_C64, int32_t: EMU_I32, int64_t: EMU_I64)
/* clang-format on */
