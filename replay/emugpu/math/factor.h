/* SPDX-License-Identifier: Apache-2.0 */

/* Factorisations of matrices and solutions of linear systems, as LAPACK's potrf, getrf, potrs and
 * getrs define them, in double precision. The caller owns all memory. */
#pragma once

#include "replay/emugpu/math/gemm.h"

/* `fill` 'L' or 'U': the Cholesky factor replaces this triangle of A, of n x n. 0: L and U with
 * row exchanges replace A, of m x n, and pivots[i] is the row, from 1, that was exchanged with row
 * i; NULL for none. Sets *info to the first row, from 1, with a pivot that is not positive or is 0;
 * to 0 if all pivots are valid. Returns 0 or -ENOMEM. */
int emu_factor(const struct emu_matrix *a, int64_t m, int64_t n, uint8_t fill, int32_t *pivots,
	       int *info);

/* Solves op(A) X = B from the factors of A, of n x n. op is 'N', 'T' or 'C'. X replaces B, of n x
 * `columns`. 0 or -ENOMEM. */
int emu_factor_solve(const struct emu_matrix *a, int64_t n, uint8_t fill, uint8_t op,
		     const int32_t *pivots, const struct emu_matrix *b, int64_t columns);
