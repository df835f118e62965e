/* SPDX-License-Identifier: Apache-2.0 */

/* cuSPARSE: products of a sparse matrix (CSR or COO) and a dense matrix or vector. They need no
 * buffer. */
#include "replay/emugpu/lib/blas.h"
#include "replay/emugpu/refuse.h"

#include <cusparse.h>

#include <stdlib.h>

struct cusparseContext {
	cudaStream_t stream;
	cusparsePointerMode_t pointers;
};

struct cusparseSpMatDescr {
	struct emu_sparse m;
	int64_t batch;
};

struct cusparseDnMatDescr {
	struct emu_matrix m;
	int64_t rows, columns, batch, stride;
};

struct cusparseDnVecDescr {
	struct cusparseDnMatDescr column;
};

/* The options of older functions, which are refused. */
struct cusparseMatDescr {
	cusparseMatrixType_t type;
	cusparseFillMode_t fill;
	cusparseDiagType_t diagonal;
	cusparseIndexBase_t base;
};

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

#define SETTER(object, member, type, set)                                                          \
	EMU_API cusparseStatus_t set(object handle, type value)                                    \
	{                                                                                          \
		if (!handle)                                                                       \
			return CUSPARSE_STATUS_NOT_INITIALIZED;                                    \
		handle->member = value;                                                            \
		return CUSPARSE_STATUS_SUCCESS;                                                    \
	}

#define GETTER(member, type, get)                                                                  \
	EMU_API cusparseStatus_t get(cusparseHandle_t handle, type *value)                         \
	{                                                                                          \
		if (!handle || !value)                                                             \
			return CUSPARSE_STATUS_INVALID_VALUE;                                      \
		*value = handle->member;                                                           \
		return CUSPARSE_STATUS_SUCCESS;                                                    \
	}

#define OPTION(member, type, set, get)                                                             \
	SETTER(cusparseMatDescr_t, member, type, set)                                              \
	EMU_API type get(const cusparseMatDescr_t descrA)                                          \
	{                                                                                          \
		return descrA->member;                                                             \
	}

SETTER(cusparseHandle_t, stream, cudaStream_t, cusparseSetStream)
GETTER(stream, cudaStream_t, cusparseGetStream)
SETTER(cusparseHandle_t, pointers, cusparsePointerMode_t, cusparseSetPointerMode)
GETTER(pointers, cusparsePointerMode_t, cusparseGetPointerMode)
OPTION(type, cusparseMatrixType_t, cusparseSetMatType, cusparseGetMatType)
OPTION(fill, cusparseFillMode_t, cusparseSetMatFillMode, cusparseGetMatFillMode)
OPTION(diagonal, cusparseDiagType_t, cusparseSetMatDiagType, cusparseGetMatDiagType)
OPTION(base, cusparseIndexBase_t, cusparseSetMatIndexBase, cusparseGetMatIndexBase)

EMU_API cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *descrA)
{
	const struct cusparseMatDescr d = {.type = CUSPARSE_MATRIX_TYPE_GENERAL};

	return duplicate(&d, sizeof(d), (void **)descrA);
}

EMU_API cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version)
{
	if (!version)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*version = CUSPARSE_VERSION;
	return CUSPARSE_STATUS_SUCCESS;
}

EMU_API cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value)
{
	static const int values[] = {CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH};

	if (!value || (unsigned)type > PATCH_LEVEL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*value = values[type];
	return CUSPARSE_STATUS_SUCCESS;
}

static const char *const statuses[][2] = {
	[CUSPARSE_STATUS_SUCCESS] = {"CUSPARSE_STATUS_SUCCESS", "success"},
	[CUSPARSE_STATUS_NOT_INITIALIZED] = {"CUSPARSE_STATUS_NOT_INITIALIZED",
					     "initialization error"},
	[CUSPARSE_STATUS_ALLOC_FAILED] = {"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
	[CUSPARSE_STATUS_INVALID_VALUE] = {"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
	[CUSPARSE_STATUS_EXECUTION_FAILED] = {"CUSPARSE_STATUS_EXECUTION_FAILED",
					      "execution failed"},
	[CUSPARSE_STATUS_NOT_SUPPORTED] = {"CUSPARSE_STATUS_NOT_SUPPORTED",
					   "operation not supported"},
};

static const char *words(cusparseStatus_t status, int number)
{
	const char *text = (unsigned)status < sizeof(statuses) / sizeof(statuses[0])
				   ? statuses[status][number]
				   : NULL;

	return text ? text : "unknown cusparseStatus_t";
}

EMU_API const char *cusparseGetErrorName(cusparseStatus_t status)
{
	return words(status, 0);
}

EMU_API const char *cusparseGetErrorString(cusparseStatus_t status)
{
	return words(status, 1);
}

/* ---- matrices ---- */

static enum emu_type index_type(cusparseIndexType_t type)
{
	return type == CUSPARSE_INDEX_64I ? EMU_I64 : EMU_I32;
}

static cusparseStatus_t create_sparse(struct emu_sparse m, cusparseIndexBase_t base,
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

EMU_API cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *spMatDescr, int64_t rows,
					   int64_t cols, int64_t nnz, void *csrRowOffsets,
					   void *csrColInd, void *csrValues,
					   cusparseIndexType_t csrRowOffsetsType,
					   cusparseIndexType_t csrColIndType,
					   cusparseIndexBase_t idxBase, cudaDataType valueType)
{
	return create_sparse((struct emu_sparse){.rows = rows,
						 .columns = cols,
						 .entries = nnz,
						 .offsets = csrRowOffsets,
						 .column_indices = csrColInd,
						 .values = csrValues,
						 .offset_type = index_type(csrRowOffsetsType),
						 .index_type = index_type(csrColIndType)},
			     idxBase, valueType, spMatDescr);
}

EMU_API cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t *spMatDescr, int64_t rows,
					   int64_t cols, int64_t nnz, void *cooRowInd,
					   void *cooColInd, void *cooValues,
					   cusparseIndexType_t cooIdxType,
					   cusparseIndexBase_t idxBase, cudaDataType valueType)
{
	return create_sparse((struct emu_sparse){.rows = rows,
						 .columns = cols,
						 .entries = nnz,
						 .row_indices = cooRowInd,
						 .column_indices = cooColInd,
						 .values = cooValues,
						 .offset_type = EMU_I64,
						 .index_type = index_type(cooIdxType)},
			     idxBase, valueType, spMatDescr);
}

EMU_API cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t spMatDescr,
						void *csrRowOffsets, void *csrColInd,
						void *csrValues)
{
	spMatDescr->m.offsets = csrRowOffsets;
	spMatDescr->m.column_indices = csrColInd;
	spMatDescr->m.values = csrValues;
	return CUSPARSE_STATUS_SUCCESS;
}

EMU_API cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount,
						    int64_t offsetsBatchStride,
						    int64_t columnsValuesBatchStride)
{
	spMatDescr->batch = batchCount;
	spMatDescr->m.offset_stride = offsetsBatchStride;
	spMatDescr->m.entry_stride = columnsValuesBatchStride;
	return CUSPARSE_STATUS_SUCCESS;
}

EMU_API cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t spMatDescr, int64_t *rows,
					      int64_t *cols, int64_t *nnz)
{
	*rows = spMatDescr->m.rows;
	*cols = spMatDescr->m.columns;
	*nnz = spMatDescr->m.entries;
	return CUSPARSE_STATUS_SUCCESS;
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

EMU_API cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t dnMatDescr,
						      int batchCount, int64_t batchStride)
{
	dnMatDescr->batch = batchCount;
	dnMatDescr->stride = batchStride;
	return CUSPARSE_STATUS_SUCCESS;
}

EMU_API cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *dnVecDescr, int64_t size,
					     void *values, cudaDataType valueType)
{
	return cusparseCreateDnMat((cusparseDnMatDescr_t *)dnVecDescr, size, 1, size, values,
				   valueType, CUSPARSE_ORDER_COL);
}

/* ---- products ---- */

static uint8_t letter_of(cusparseOperation_t op)
{
	return op == CUSPARSE_OPERATION_NON_TRANSPOSE ? 'N'
	       : op == CUSPARSE_OPERATION_TRANSPOSE   ? 'T'
						      : 'C';
}

static cusparseStatus_t launch(cusparseHandle_t handle, const struct emu_work *work)
{
	return emu_blas_launch(handle->stream, work) == CUBLAS_STATUS_SUCCESS
		       ? CUSPARSE_STATUS_SUCCESS
		       : CUSPARSE_STATUS_EXECUTION_FAILED;
}

static cusparseStatus_t multiply(cusparseHandle_t handle, uint8_t op_a, uint8_t op_b,
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

EMU_API cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
						 cusparseOperation_t opB, const void *alpha,
						 cusparseConstSpMatDescr_t matA,
						 cusparseConstDnMatDescr_t matB, const void *beta,
						 cusparseDnMatDescr_t matC,
						 cudaDataType computeType, cusparseSpMMAlg_t alg,
						 size_t *bufferSize)
{
	*bufferSize = 0;
	return CUSPARSE_STATUS_SUCCESS;
}

EMU_API cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t opA,
				      cusparseOperation_t opB, const void *alpha,
				      cusparseConstSpMatDescr_t matA,
				      cusparseConstDnMatDescr_t matB, const void *beta,
				      cusparseDnMatDescr_t matC, cudaDataType computeType,
				      cusparseSpMMAlg_t alg, void *externalBuffer)
{
	return multiply(handle, letter_of(opA), letter_of(opB), alpha, matA, matB, beta, matC,
			computeType);
}

EMU_API cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
						 const void *alpha, cusparseConstSpMatDescr_t matA,
						 cusparseConstDnVecDescr_t vecX, const void *beta,
						 cusparseDnVecDescr_t vecY,
						 cudaDataType computeType, cusparseSpMVAlg_t alg,
						 size_t *bufferSize)
{
	*bufferSize = 0;
	return CUSPARSE_STATUS_SUCCESS;
}

EMU_API cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t opA,
				      const void *alpha, cusparseConstSpMatDescr_t matA,
				      cusparseConstDnVecDescr_t vecX, const void *beta,
				      cusparseDnVecDescr_t vecY, cudaDataType computeType,
				      cusparseSpMVAlg_t alg, void *externalBuffer)
{
	return multiply(handle, letter_of(opA), 'N', alpha, matA, &vecX->column, beta,
			&vecY->column, computeType);
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
