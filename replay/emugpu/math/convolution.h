/* SPDX-License-Identifier: Apache-2.0 */

/* Convolutions of tensors in host memory, with up to three spatial dimensions: as products of
 * matrices (im2col), summed in double precision and rounded once. The caller owns all memory. */
#pragma once

#include "replay/emugpu/math/element.h"

/* Element (n, c, z, y, x) is data[n * stride[0] + ... + x * stride[4]]. With fewer spatial
 * dimensions, the first ones have size 1. */
struct emu_tensor5 {
	void *data;
	enum emu_type type;
	int64_t size[5], stride[5];
};

enum emu_convolution_kind {
	EMU_CONVOLUTION_FORWARD, /* y from x and w */
	EMU_CONVOLUTION_DATA,	 /* x, a gradient, from w and y */
	EMU_CONVOLUTION_FILTER,	 /* w, a gradient, from x and y */
	EMU_CONVOLUTION_KINDS,
};

struct emu_convolution {
	uint8_t kind;	/* enum emu_convolution_kind */
	uint8_t flip;	/* a convolution; else a cross-correlation */
	uint8_t tensor; /* may run on tensor cores */
	uint8_t unused[5];
	int64_t pad[3], step[3], dilation[3];
	double alpha, beta;	    /* result = alpha * convolution + beta * old result */
	struct emu_tensor5 x, w, y; /* w: output channels, input channels of a group, then sizes */
};

/* Returns 0; -EINVAL if the shapes do not match; -ENOMEM. */
int emu_convolution_check(const struct emu_convolution *c);
int emu_convolution_run(const struct emu_convolution *c);

double emu_convolution_operations(const struct emu_convolution *c);

/* Returns the number of elements of a tensor. */
int64_t emu_tensor5_count(const struct emu_tensor5 *t);

/* Returns the size of the output in spatial dimension i, 0 to 2. */
int64_t emu_convolution_output(const struct emu_convolution *c, int i);
