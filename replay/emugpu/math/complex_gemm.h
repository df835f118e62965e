/* SPDX-License-Identifier: Apache-2.0 */

/* The product of complex matrices, for emu_gemm(): a simple loop, summed in double. */
#pragma once

#include "replay/emugpu/math/gemm.h"

#include <complex.h>

/* CMPLX, for compilers without it. */
static inline double complex emu_complex(double real, double imaginary)
{
	union {
		double parts[2];
		double complex value;
	} v = {{real, imaginary}};

	return v.value;
}

/* As emu_gemm(), where the four matrices are complex. */
int emu_gemm_complex(const struct emu_gemm *g);

/* One element of a complex or real vector. */
double complex emu_load_complex(enum emu_type type, const void *data, int64_t index);
void emu_store_complex(enum emu_type type, void *data, int64_t index, double complex value);
