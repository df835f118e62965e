/* SPDX-License-Identifier: Apache-2.0 */

/* Products of matrices in host memory: D = alpha A B + beta C, for every mix of element types that
 * the GPU libraries accept.
 *
 * Inputs are widened to the compute type, all products are summed in that type, and D is rounded
 * once. The caller owns all memory. D may be C, but may not overlap other inputs. The result
 * depends on the processor's instruction set, but not on threads or earlier calls. */
#pragma once

#include "replay/emugpu/math/element.h"

enum emu_activation { EMU_LINEAR, EMU_RELU, EMU_GELU };

/* Applied after the product: bias, then activation, or the derivative of an activation. */
struct emu_epilogue {
	uint8_t activation; /* enum emu_activation */
	uint8_t backward;   /* multiply by the activation's derivative, read from `aux` */
	uint8_t bias_type, aux_type;
	const void *bias; /* one per row of D; or NULL */
	void *bias_grad;  /* one per row of D: the sum of D's columns; or NULL */
	void *aux;	  /* column-major; the value before the activation, RELU: one bit */
	int64_t aux_stride;
};

struct emu_gemm {
	int64_t m, n, k;
	enum emu_type compute; /* EMU_F32, F64, I32, C32 or C64 */
	double alpha[2], beta[2];
	struct emu_matrix a, b, c, d;	     /* c.data is not read if beta is 0 */
	const struct emu_epilogue *epilogue; /* NULL: none; else compute is EMU_F32 or F64 */
};

/* Returns 0, -ENOMEM, or -ENOTSUP for an unsupported combination of types. */
int emu_gemm(const struct emu_gemm *g);

/* Returns gelu(x) in the tanh form that cuBLASLt documents. */
double emu_gelu(double x);
