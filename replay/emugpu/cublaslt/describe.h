/* SPDX-License-Identifier: Apache-2.0 */

/* Contents of the opaque descriptors of cublasLt.h. Not larger than the public types, which
 * programs may allocate themselves. */
#pragma once

#include "replay/emugpu/lib/blas.h"
#include "replay/emugpu/refuse.h"

#include <cublasLt.h>

struct emu_lt_layout {
	uint32_t type;
	int32_t order;
	uint64_t rows, columns;
	int64_t ld;
	int32_t batch, mode;
	int64_t stride, plane;
};

struct emu_lt_matmul {
	int32_t compute, scale, pointers, op_a, op_b, op_c, fill;
	uint32_t epilogue;
	void *bias;
	int64_t bias_stride;
	void *aux;
	int64_t aux_ld, aux_stride;
	int64_t alpha_stride;
	int32_t sm_count, aux_type, bias_type;
	int8_t fast;
	const void *a_scale, *b_scale, *c_scale, *d_scale, *aux_scale, *d_out_scale;
	void *d_amax, *aux_amax, *emulation;
	int32_t a_mode, b_mode, c_mode, d_mode, aux_mode, d_out_mode;
};

struct emu_lt_transform {
	int32_t scale, pointers, op_a, op_b;
};

struct emu_lt_preference {
	uint32_t search, reduction, impl;
	float waves;
	uint64_t workspace;
	uint32_t alignment[4];
};

_Static_assert(sizeof(struct emu_lt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "fits");
_Static_assert(sizeof(struct emu_lt_matmul) <= sizeof(cublasLtMatmulDescOpaque_t), "fits");
_Static_assert(sizeof(struct emu_lt_transform) <= sizeof(cublasLtMatrixTransformDescOpaque_t),
	       "fits");
_Static_assert(sizeof(struct emu_lt_preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t),
	       "fits");
