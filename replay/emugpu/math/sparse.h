/* SPDX-License-Identifier: Apache-2.0 */

/* Products of a sparse matrix and a dense one. The caller owns all memory. */
#pragma once

#include "replay/emugpu/math/gemm.h"

/* A matrix in CSR form, or COO where offsets is NULL. Indices are EMU_I32 or EMU_I64. */
struct emu_sparse {
	int64_t rows, columns, entries;
	const void *offsets, *row_indices, *column_indices, *values;
	enum emu_type offset_type, index_type, type;
	int64_t base;			     /* of indices: 0 or 1 */
	int64_t offset_stride, entry_stride; /* elements to the next matrix of a batch */
};

/* C = alpha op(A) op(B) + beta C, op(B) and op(C) being in the strides. `columns`: of C. `op` is
 * 'N', 'T' or 'C'. Sums are rounded once. 0 or -ENOMEM. */
int emu_sparse_product(const struct emu_sparse *a, uint8_t op, const struct emu_matrix *b,
		       const struct emu_matrix *c, int64_t columns, const double alpha[2],
		       const double beta[2]);

/* Computes the row offsets of a COO matrix whose entries are ordered by row: rows + 1 numbers. */
void emu_sparse_offsets(const struct emu_sparse *a, int32_t *ret);
