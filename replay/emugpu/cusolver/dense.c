/* SPDX-License-Identifier: Apache-2.0 */

/* cuSOLVER: handles; Cholesky and LU factorisation of dense matrices, and solving with the
 * factors. */
#include "replay/emugpu/cusolver/calls.h"

#include <stdlib.h>

EMU_API cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
	if (!handle)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (emu_gpu_context() != CUDA_SUCCESS)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	return *handle ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

EMU_API cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
	free(handle);
	return CUSOLVER_STATUS_SUCCESS;
}

EMU_API cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params)
{
	if (!params)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*params = malloc(1);
	return *params ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

static cusolverStatus_t launch(cusolverDnHandle_t handle, uint32_t kind, struct emu_factor_work w)
{
	struct emu_work work = {.kind = kind, .factor = w};

	if (!handle)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (w.a.m.type == EMU_TYPES || w.b.m.type == EMU_TYPES)
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	if (w.m < 0 || w.n < 0 || w.columns < 0 || w.batch < 0 || w.a.m.column < w.m ||
	    (kind == EMU_WORK_SOLVE && w.b.m.column < w.n))
		return CUSOLVER_STATUS_INVALID_VALUE;
	return emu_blas_launch(handle->stream, &work) == CUBLAS_STATUS_SUCCESS
		       ? CUSOLVER_STATUS_SUCCESS
		       : CUSOLVER_STATUS_EXECUTION_FAILED;
}

cusolverStatus_t emu_cusolver_factor(cusolverDnHandle_t handle, int64_t m, int64_t n, uint8_t fill,
				     struct emu_operand a, int *pivots, int *info, int64_t batch)
{
	return launch(handle, EMU_WORK_FACTOR,
		      (struct emu_factor_work){.m = m,
					       .n = n,
					       .batch = batch,
					       .a = a,
					       .fill = fill,
					       .pivots = pivots,
					       .info = info});
}

cusolverStatus_t emu_cusolver_solve(cusolverDnHandle_t handle, int64_t n, int64_t columns,
				    uint8_t fill, uint8_t op, struct emu_operand a,
				    const int *pivots, struct emu_operand b, int *info,
				    int64_t batch)
{
	return launch(handle, EMU_WORK_SOLVE,
		      (struct emu_factor_work){.m = n,
					       .n = n,
					       .columns = columns,
					       .batch = batch,
					       .a = a,
					       .b = b,
					       .fill = fill,
					       .op = op,
					       .pivots = (int *)(uintptr_t)pivots,
					       .info = info});
}
