/* SPDX-License-Identifier: Apache-2.0 */

/* Vector operations, as passed from the entry points of cuBLAS to the GPU. */
#pragma once

#include "replay/emugpu/cublas/handle.h"

struct emu_strided {
	const void *data;
	int64_t increment;
	enum emu_type type;
};

/* AXPY, SCAL, COPY, SWAP, ROT. `a` and `b` may be NULL if the map does not use them. */
cublasStatus_t emu_map_launch(cublasHandle_t handle, enum emu_map map, int64_t n, const void *a,
			      enum emu_type a_type, const void *b, enum emu_type b_type,
			      struct emu_strided x, struct emu_strided y);

/* Reductions such as DOT. Writes the result to the device, or to host memory after waiting for
 * it. */
cublasStatus_t emu_fold_launch(cublasHandle_t handle, enum emu_fold fold, int64_t n,
			       struct emu_strided x, struct emu_strided y, void *result,
			       enum emu_type result_type);
