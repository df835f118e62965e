/* SPDX-License-Identifier: Apache-2.0 */

/* cuSPARSE: products of a sparse matrix (CSR or COO) and a dense matrix or vector. They need no
 * buffer. */
#include "replay/emugpu/cusparse/calls.h"

#include "base/array.h"

#include <stdlib.h>

/* Stores a copy of `from` in new memory. */
static cusparseStatus_t duplicate(const void *from, size_t bytes, void **ret)
{
	if (!ret)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*ret = malloc(bytes);
	if (!*ret)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	memcpy(*ret, from, bytes);
	return CUSPARSE_STATUS_SUCCESS;
}

EMU_API cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
	const struct cusparseContext h = {.pointers = CUSPARSE_POINTER_MODE_HOST};

	if (emu_gpu_context() != CUDA_SUCCESS)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	return duplicate(&h, sizeof(h), (void **)handle);
}

/* Also of matrices and vectors (forward.txt). */
EMU_API cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
	free(handle);
	return CUSPARSE_STATUS_SUCCESS;
}

EMU_API cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *descrA)
{
	const struct cusparseMatDescr d = {.type = CUSPARSE_MATRIX_TYPE_GENERAL};

	return duplicate(&d, sizeof(d), (void **)descrA);
}

const char *emu_cusparse_text(cusparseStatus_t status)
{
	static const char *const texts[] = {
		[CUSPARSE_STATUS_SUCCESS] = "success",
		[CUSPARSE_STATUS_NOT_INITIALIZED] = "initialization error",
		[CUSPARSE_STATUS_ALLOC_FAILED] = "out of memory",
		[CUSPARSE_STATUS_INVALID_VALUE] = "invalid value",
		[CUSPARSE_STATUS_EXECUTION_FAILED] = "execution failed",
		[CUSPARSE_STATUS_NOT_SUPPORTED] = "operation not supported",
	};

	return (unsigned)status < ARRAY_SIZE(texts) ? texts[status] : NULL;
}

/* ---- matrices ---- */

cusparseStatus_t emu_cusparse_create(struct emu_sparse m, cusparseIndexBase_t base,
				     cudaDataType type, cusparseSpMatDescr_t *ret)
{
	struct cusparseSpMatDescr d = {.m = m, .batch = 1};

	if (m.rows < 0 || m.columns < 0 || m.entries < 0)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (emu_type_of(type, &d.m.type) < 0)
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	d.m.base = base == CUSPARSE_INDEX_BASE_ONE;
	return duplicate(&d, sizeof(d), (void **)ret);
}

EMU_API cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *dnMatDescr, int64_t rows,
					     int64_t cols, int64_t ld, void *values,
					     cudaDataType valueType, cusparseOrder_t order)
{
	struct cusparseDnMatDescr d = {.m = {.data = values}, rows, cols, .batch = 1};

	if (rows < 0 || cols < 0)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (emu_type_of(valueType, &d.m.type) < 0)
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	d.m.row = order == CUSPARSE_ORDER_ROW ? ld : 1;
	d.m.column = order == CUSPARSE_ORDER_ROW ? 1 : ld;
	return duplicate(&d, sizeof(d), (void **)dnMatDescr);
}

/* ---- products ---- */

static cusparseStatus_t launch(cusparseHandle_t handle, const struct emu_work *work)
{
	return emu_blas_launch(handle->stream, work) == CUBLAS_STATUS_SUCCESS
		       ? CUSPARSE_STATUS_SUCCESS
		       : CUSPARSE_STATUS_EXECUTION_FAILED;
}

cusparseStatus_t emu_cusparse_multiply(cusparseHandle_t handle, uint8_t op_a, uint8_t op_b,
				       const void *alpha, cusparseConstSpMatDescr_t a,
				       cusparseConstDnMatDescr_t b, const void *beta,
				       const struct cusparseDnMatDescr *c, cudaDataType compute)
{
	struct emu_work work = {.kind = EMU_WORK_SPARSE};
	struct emu_sparse_work *w = &work.sparse;
	int on_device;
	enum emu_type type;

	if (!handle)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!a || !b || !c || emu_type_of(compute, &type) < 0)
		return CUSPARSE_STATUS_INVALID_VALUE;
	on_device = handle->pointers == CUSPARSE_POINTER_MODE_DEVICE;
	*w = (struct emu_sparse_work){.a = a->m,
				      .op = op_a,
				      .columns = c->columns,
				      .batch = c->batch,
				      .b = {.m = b->m, .stride = b->stride},
				      .c = {.m = c->m, .stride = c->stride},
				      .alpha = emu_scalar_of(alpha, type, on_device),
				      .beta = emu_scalar_of(beta, type, on_device)};
	if (op_b != 'N') {
		w->b.m.row = b->m.column;
		w->b.m.column = b->m.row;
		w->b.m.conjugate = op_b == 'C';
	}
	if ((op_a == 'N' ? a->m.rows : a->m.columns) != c->rows ||
	    (op_a == 'N' ? a->m.columns : a->m.rows) != (op_b == 'N' ? b->rows : b->columns) ||
	    (op_b == 'N' ? b->columns : b->rows) != c->columns)
		return CUSPARSE_STATUS_INVALID_VALUE;
	return launch(handle, &work);
}

/* Rows of a COO matrix as offsets of a CSR matrix. */
EMU_API cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int *cooRowInd, int nnz,
					  int m, int *csrSortedRowPtr, cusparseIndexBase_t idxBase)
{
	struct emu_work work = {.kind = EMU_WORK_OFFSETS};

	if (!handle)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	work.sparse.a = (struct emu_sparse){.rows = m,
					    .entries = nnz,
					    .row_indices = cooRowInd,
					    .index_type = EMU_I32,
					    .type = EMU_I32,
					    .base = idxBase == CUSPARSE_INDEX_BASE_ONE};
	work.sparse.c.m = (struct emu_matrix){.data = csrSortedRowPtr, .type = EMU_I32};
	work.sparse.columns = work.sparse.batch = 1;
	return launch(handle, &work);
}
