/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/cublas/calls.h"

static struct emu_vector vector_of(struct emu_strided v, int64_t n)
{
	return emu_vector_of(v.type, v.data, n, v.increment);
}

cublasStatus_t emu_cublas_map(cublasHandle_t handle, enum emu_map map, int64_t n,
			      struct emu_strided a, struct emu_strided b, struct emu_strided x,
			      struct emu_strided y)
{
	struct emu_work work = {.kind = EMU_WORK_MAP};

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (a.type == EMU_TYPES || x.type == EMU_TYPES || y.type == EMU_TYPES)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (n <= 0)
		return CUBLAS_STATUS_SUCCESS;
	work.vector.n = n;
	work.vector.map = (uint8_t)map;
	work.vector.x = vector_of(x, n);
	work.vector.y = vector_of(y, n);
	work.vector.a = emu_scalar_of(a.data, a.type, emu_on_device(handle));
	work.vector.b = emu_scalar_of(b.data, b.type, emu_on_device(handle));
	return emu_blas_launch(handle->stream, &work);
}

cublasStatus_t emu_cublas_fold(cublasHandle_t handle, enum emu_fold fold, int64_t n,
			       struct emu_strided x, struct emu_strided y,
			       struct emu_strided result)
{
	const struct emu_gpu *gpu = emu_gpu();
	struct emu_work work = {.kind = EMU_WORK_FOLD};
	void *to = (void *)(uintptr_t)result.data;
	cublasStatus_t r;
	CUresult c;

	if (!handle)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (x.type == EMU_TYPES || y.type == EMU_TYPES || result.type == EMU_TYPES)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (!to)
		return CUBLAS_STATUS_INVALID_VALUE;
	work.vector.n = n < 0 ? 0 : n;
	work.vector.fold = (uint8_t)fold;
	work.vector.x = vector_of(x, n);
	work.vector.y = vector_of(y, n);
	work.vector.result = emu_on_device(handle) ? to : (void *)(uintptr_t)handle->result;
	work.vector.result_type = result.type;
	r = emu_blas_launch(handle->stream, &work);
	if (r != CUBLAS_STATUS_SUCCESS || emu_on_device(handle))
		return r;
	c = gpu->cuMemcpyDtoHAsync_v2(to, handle->result, emu_type_bytes(result.type),
				      handle->stream);
	if (c == CUDA_SUCCESS)
		c = gpu->cuStreamSynchronize(handle->stream);
	return emu_blas_status(c);
}
