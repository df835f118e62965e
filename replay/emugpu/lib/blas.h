/* SPDX-License-Identifier: Apache-2.0 */

/* What cuBLAS and cuBLASLt share: their kernels, and the names of types. */
#pragma once

#include "replay/emugpu/lib/gpu.h"
#include "replay/emugpu/lib/work.h"

#include <cublas_v2.h>

/* 0, or -ENOTSUP for a type that is not computed with. */
int emu_type_of(cudaDataType type, enum emu_type *ret);

/* What is computed in, from what cuBLAS calls it; `is_complex` where the matrices are. */
int emu_compute_of(cublasComputeType_t type, int is_complex, enum emu_type *ret);

/* Does a product of these matrices in this compute type run on the matrix units? `math` is the
 * handle's mode. */
int emu_uses_tensor(cublasComputeType_t type, cublasMath_t math, enum emu_type a);

/* A matrix as BLAS describes it, in the strides of op(A). */
struct emu_matrix emu_matrix_of(const void *data, enum emu_type type, int64_t ld,
				cublasOperation_t op);

/* alpha or beta: read now, or where it lies on the device. */
struct emu_scalar emu_scalar_of(const void *at, enum emu_type type, int on_device);

/* Launches it as one kernel on `stream`. */
cublasStatus_t emu_blas_launch(CUstream stream, const struct emu_work *work);

cublasStatus_t emu_blas_status(CUresult r);

/* "CUBLAS_STATUS_SUCCESS", and what it means. */
const char *emu_blas_status_name(cublasStatus_t status);
const char *emu_blas_status_text(cublasStatus_t status);
