/* SPDX-License-Identifier: Apache-2.0 */

/* Orthogonal, singular value and eigenvalue decompositions by the LAPACK of the system
 * (liblapack.so.3), which is loaded when it is first needed. Any thread. */
#pragma once

#include "replay/emugpu/math/gemm.h"

enum emu_lapack_routine {
	EMU_GEQRF,
	EMU_ORGQR,
	EMU_ORMQR,
	EMU_GESVD,
	EMU_SYEV,
	EMU_GEEV,
	EMU_GELS,
	EMU_LAPACK_ROUTINES,
};

/* Matrices of a routine. EMU_VALUES is the vector tau, S or W. */
enum { EMU_LAPACK_A, EMU_LAPACK_U, EMU_LAPACK_V, EMU_VALUES, EMU_LAPACK_MATRICES };

/* The arguments of a routine, named as in LAPACK; ORGQR, ORMQR and SYEV are also UNGQR, UNMQR and
 * HEEV. The results replace A. */
struct emu_lapack {
	uint8_t routine;
	/* Letters: side and trans, jobu and jobvt, jobz and uplo, jobvl and jobvr; trans of GELS.
	 */
	uint8_t first, second;
	uint8_t unused[5];
	int64_t m, n, k; /* k: nrhs of GELS */
	/* Column-major, all of the type of A except for the values, which are real in GESVD and
	 * SYEV and complex in GEEV. U is C of ORMQR, VL of GEEV and B of GELS. V^T of GESVD may
	 * have any strides. */
	struct emu_matrix matrix[EMU_LAPACK_MATRICES];
};

/* Returns 0, or -ENOTSUP if there is no LAPACK or it has not all routines. */
int emu_lapack_load(void);

/* Returns 1 if routine, sizes, letters and leading dimensions are valid and the types are
 * supported. */
int emu_lapack_valid(const struct emu_lapack *l);

/* 0, -EINVAL if the arguments are not valid, -ENOMEM or -ENOTSUP. */
int emu_lapack_run(const struct emu_lapack *l, int32_t *info);

/* The number of operations on real numbers, from LAPACK's documentation and Golub and Van Loan,
 * "Matrix Computations". */
double emu_lapack_operations(const struct emu_lapack *l);
