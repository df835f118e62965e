/* SPDX-License-Identifier: Apache-2.0 */

/* Contents of the opaque descriptors of cublasLt.h. Not larger than the public types, which
 * programs may allocate themselves. */
#pragma once

#include "replay/emugpu/lib/blas.h"

#include <cublasLt.h>

#include <stdlib.h>

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

/* Offset and size of an attribute. The last of a list has the number -1. */
struct emu_lt_field {
	int attribute;
	uint32_t at, bytes;
};

extern const struct emu_lt_field emu_lt_layout_fields[], emu_lt_matmul_fields[],
	emu_lt_transform_fields[], emu_lt_preference_fields[];

cublasStatus_t emu_lt_set(void *descriptor, const struct emu_lt_field *fields, int attribute,
			  const void *buf, size_t bytes);
cublasStatus_t emu_lt_get(const void *descriptor, const struct emu_lt_field *fields, int attribute,
			  void *buf, size_t bytes, size_t *written);

/* Initialise a descriptor of `size` bytes in the caller's memory, or in new memory. */
cublasStatus_t emu_lt_init(void *descriptor, size_t size, const void *value, size_t bytes);
cublasStatus_t emu_lt_create(void **ret, size_t size, const void *value, size_t bytes);

/* The macros of forward.txt: descriptors by their initial values, and an algorithm's number. */
#define NEW_LAYOUT                                                                                 \
	&(struct emu_lt_layout){                                                                   \
		.type = type, .rows = rows, .columns = cols, .ld = ld, .batch = 1},                \
		sizeof(struct emu_lt_layout)
#define NEW_MATMUL                                                                                 \
	&(struct emu_lt_matmul){.compute = computeType,                                            \
				.scale = scaleType,                                                \
				.fill = CUBLAS_FILL_MODE_FULL,                                     \
				.epilogue = CUBLASLT_EPILOGUE_DEFAULT,                             \
				.aux_type = -1,                                                    \
				.bias_type = -1},                                                  \
		sizeof(struct emu_lt_matmul)
#define NEW_TRANSFORM                                                                              \
	&(struct emu_lt_transform){.scale = scaleType}, sizeof(struct emu_lt_transform)
#define NEW_PREFERENCE                                                                             \
	&(struct emu_lt_preference){.reduction = CUBLASLT_REDUCTION_SCHEME_MASK,                   \
				    .alignment = {256, 256, 256, 256},                             \
				    .impl = UINT32_MAX},                                           \
		sizeof(struct emu_lt_preference)
#define CREATE(ret, value) emu_lt_create((void **)(ret), sizeof(**(ret)), value)
