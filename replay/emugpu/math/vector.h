/* SPDX-License-Identifier: Apache-2.0 */

/* The vector operations of BLAS, and triangular solves, for every element type. Computed in double
 * (complex double) and rounded once when stored. The caller owns all memory. */
#pragma once

#include "replay/emugpu/math/gemm.h"

/* Element i is data[i * step]; step may be negative or 0. */
struct emu_vector {
	void *data;
	enum emu_type type;
	int64_t step;
};

/* Makes a vector from BLAS arguments (n, x, increment): a negative increment starts at the end. */
struct emu_vector emu_vector_of(enum emu_type type, const void *data, int64_t n, int64_t increment);

enum emu_map { EMU_AXPY, EMU_SCAL, EMU_COPY, EMU_SWAP, EMU_ROT };

/* AXPY y += s[0] x; SCAL x *= s[0]; COPY y = x; SWAP; ROT (x, y) = (s[0] x + s[1] y, s[0] y -
 * conj(s[1]) x). Scalars are (real, imaginary) pairs. */
void emu_map(enum emu_map map, int64_t n, const double s[4], struct emu_vector x,
	     struct emu_vector y);

enum emu_fold { EMU_DOT, EMU_DOTC, EMU_NRM2, EMU_ASUM, EMU_IAMAX, EMU_IAMIN };

/* ret = {real, imaginary}. DOTC conjugates x. IAMAX and IAMIN count from 1, and return 0 for n <
 * 1. */
void emu_fold(enum emu_fold fold, int64_t n, struct emu_vector x, struct emu_vector y,
	      double ret[2]);

struct emu_triangle {
	struct emu_matrix a; /* triangular, op(A) already in its strides */
	uint8_t upper;	     /* of op(A) */
	uint8_t unit;	     /* ones on the diagonal, not read */
	uint8_t right;	     /* X op(A) instead of op(A) X */
	int64_t m, n;	     /* of B */
	double alpha[2];
	struct emu_matrix b, x; /* x may be b */
};

/* Solves op(A) X = alpha B; 0 or -ENOMEM. */
int emu_trsm(const struct emu_triangle *t);

/* X = alpha op(A) B; 0 or -ENOMEM. */
int emu_trmm(const struct emu_triangle *t);

/* C = alpha op(A) + beta op(B); the strides contain the ops. `g->k` is not used. */
void emu_geam(const struct emu_gemm *g);
