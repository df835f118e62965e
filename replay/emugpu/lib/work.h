/* SPDX-License-Identifier: Apache-2.0 */

/* The parameter of the kernels of the emulated BLAS libraries: a description of the work, by value,
 * so that recorders and graphs can copy it. All pointers are device addresses. */
#pragma once

#include "replay/emugpu/math/fourier.h"
#include "replay/emugpu/math/gemm.h"
#include "replay/emugpu/math/lapack.h"
#include "replay/emugpu/math/sparse.h"
#include "replay/emugpu/math/vector.h"

#include <gpuemu.h>

enum emu_work_kind {
	EMU_WORK_GEMM,
	EMU_WORK_GEAM,
	EMU_WORK_DGMM, /* D = A with row or column i multiplied by element i of B, a vector */
	EMU_WORK_MAP,
	EMU_WORK_FOLD,
	EMU_WORK_TRSM,
	EMU_WORK_TRMM,
	EMU_WORK_FACTOR,
	EMU_WORK_SOLVE, /* from factors */
	EMU_WORK_SPARSE,
	EMU_WORK_OFFSETS, /* of the rows of a COO matrix */
	EMU_WORK_FOURIER,
	EMU_WORK_LAPACK,
	EMU_WORK_KINDS,
};

/* A scalar such as alpha or beta: at device address `at`, or `value` if `at` is NULL. */
struct emu_scalar {
	const void *address;
	enum emu_type type;
	double value[2];
};

/* One operand of each product of a batch. */
struct emu_operand {
	struct emu_matrix m; /* data: the first; with `pointers`, an array of pointers to them */
	int64_t stride;	     /* elements to the next matrix; 0: all use the same */
	uint8_t pointers;
	uint8_t fill; /* 'U', 'L': only this triangle is stored, the matrix is symmetric; 0: general
		       */
	uint8_t hermitian; /* the mirror image is conjugated */
	/* Zeros instead of padding, which may contain parts of old pointers: --digest=launch reads
	 * every buffer that the parameters of a kernel point to. */
	uint8_t unused[5];
};

struct emu_gemm_work {
	int64_t m, n, k, batch;
	enum emu_type compute;
	uint8_t tensor; /* may run on tensor cores */
	uint8_t fill;	/* 'U', 'L': only this triangle of D is written; 0: all */
	uint8_t right;	/* of EMU_WORK_DGMM */
	uint8_t sum_of; /* 'A', 'B': bias_grad is the sum over k of that matrix */
	struct emu_scalar alpha, beta;
	struct emu_scalar a_scale, b_scale, c_scale, d_scale; /* 8-bit floats; `at` NULL: 1 */
	float *d_amax;					      /* or NULL */
	struct emu_operand a, b, c, d;
	uint8_t has_epilogue;
	struct emu_epilogue epilogue;
	int64_t bias_batch, aux_batch; /* elements to the next product's */
};

struct emu_vector_work {
	int64_t n;
	uint8_t map, fold;
	struct emu_vector x, y;
	struct emu_scalar a, b; /* of a map */
	void *result;		/* of a fold */
	enum emu_type result_type;
};

struct emu_triangle_work {
	struct emu_triangle t;
	struct emu_scalar alpha;
	int64_t batch;
	uint8_t pointers; /* t.a.data, t.b.data and t.x.data are arrays of pointers */
};

/* math/factor.h. Each matrix of a batch has min(m, n) pivots and one info, or none. */
struct emu_factor_work {
	int64_t m, n, columns, batch; /* columns: of B */
	struct emu_operand a, b;
	uint8_t fill, op;
	int32_t *pivots, *info;
};

/* op(A) op(B) + C of math/sparse.h; or the offsets of A, stored in C. */
struct emu_sparse_work {
	struct emu_sparse a;
	uint8_t op;
	int64_t columns, batch;
	struct emu_operand b, c;
	struct emu_scalar alpha, beta;
};

/* The matrices of `l` are the first of a batch. Each call has one info, or none. */
struct emu_lapack_work {
	struct emu_lapack l;
	int64_t batch;
	int64_t strides[EMU_LAPACK_MATRICES]; /* elements to the next matrix */
	int32_t *info;
	uint64_t pointers; /* their data are arrays of pointers */
};

struct emu_work {
	uint32_t kind; /* enum emu_work_kind */
	union {
		struct emu_gemm_work gemm; /* GEMM, GEAM, DGMM */
		struct emu_vector_work vector;
		struct emu_triangle_work triangle;
		struct emu_factor_work factor;
		struct emu_sparse_work sparse;
		struct emu_fourier fourier;
		struct emu_lapack_work lapack;
	};
};

/* Does the work now; 0, 1 if it is too large to be computed or its input is undefined,
 * -EINVAL, -ENOMEM or -ENOTSUP. Products,
 * vectors and triangles have no limit; $GPUEMU_COMPUTE=all removes that of the others. */
int emu_work_run(const struct emu_work *w);

/* If A or B has no values (absent.h), makes D absent and returns 1; else the product has to be
 * computed. Infinity in the other matrix counts as a number. */
int emu_work_skip(const struct emu_gemm_work *w, const struct emu_gemm *g);

/* The cost on a GPU: operations, and bytes; each byte is read or written once. */
struct emu_work_cost {
	double operations, bytes;
	enum emu_type type; /* of the operands of the operations */
	uint8_t tensor;
};

struct emu_work_cost emu_work_cost(const struct emu_work *w);

/* Returns the shape of a product of whole real matrices; m is 0 for others. */
struct gpuemu_product emu_work_product(const struct emu_work *w);
