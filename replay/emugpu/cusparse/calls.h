/* SPDX-License-Identifier: Apache-2.0 */

/* The handles of cuSPARSE, and what the expressions of forward.txt use. */
#pragma once

#include "replay/emugpu/lib/blas.h"
#include "replay/emugpu/versions.h"

#include <cusparse.h>

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

/* The macros of forward.txt. */
#define SET(handle, member, value)                                                                 \
	(handle) ? ((handle)->member = (value), CUSPARSE_STATUS_SUCCESS)                           \
		 : CUSPARSE_STATUS_NOT_INITIALIZED
#define GET(member, at)                                                                            \
	handle && (at) ? (*(at) = handle->member, CUSPARSE_STATUS_SUCCESS)                         \
		       : CUSPARSE_STATUS_INVALID_VALUE
#define INDEX(type) ((type) == CUSPARSE_INDEX_64I ? EMU_I64 : EMU_I32)
#define LETTER(op)                                                                                 \
	((op) == CUSPARSE_OPERATION_NON_TRANSPOSE ? 'N'                                            \
	 : (op) == CUSPARSE_OPERATION_TRANSPOSE	  ? 'T'                                            \
						  : 'C')

/* Returns the description of a status, or NULL. */
const char *emu_cusparse_text(cusparseStatus_t status);

/* Creates the descriptor of a matrix; sets its base and type. */
cusparseStatus_t emu_cusparse_create(struct emu_sparse m, cusparseIndexBase_t base,
				     cudaDataType type, cusparseSpMatDescr_t *ret);

cusparseStatus_t emu_cusparse_multiply(cusparseHandle_t handle, uint8_t op_a, uint8_t op_b,
				       const void *alpha, cusparseConstSpMatDescr_t a,
				       cusparseConstDnMatDescr_t b, const void *beta,
				       const struct cusparseDnMatDescr *c, cudaDataType compute);
