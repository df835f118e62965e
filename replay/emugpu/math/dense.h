/* SPDX-License-Identifier: Apache-2.0 */

/* Matrices as operands of BLIS, the BLAS library that multiplies and solves. Internal to
 * replay/emugpu/math. */
#pragma once

#include "replay/emugpu/math/element.h"

#include <blis.h>

struct emu_dense {
	obj_t object;
	void *copy; /* its elements; NULL: the object refers to the matrix's own memory */
};

/* Converts a matrix to `type` (EMU_F32, F64, C32 or C64), by rows or by columns. Returns 0 or
 * -ENOMEM. */
int emu_dense_copy(const struct emu_matrix *m, int64_t rows, int64_t columns, enum emu_type type,
		   struct emu_dense *ret);

/* As emu_dense_copy(), but refers to the matrix if BLIS can read it in place. */
int emu_dense_of(const struct emu_matrix *m, int64_t rows, int64_t columns, enum emu_type type,
		 struct emu_dense *ret);

void emu_dense_done(struct emu_dense *d);
