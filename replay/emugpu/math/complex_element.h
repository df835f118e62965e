/* SPDX-License-Identifier: Apache-2.0 */

/* Complex numbers, and elements of matrices as complex numbers. */
#pragma once

#include "replay/emugpu/math/element.h"

#include <complex.h>

/* Replaces CMPLX for compilers without it. */
static inline double complex emu_complex(double real, double imaginary)
{
	union {
		double parts[2];
		double complex value;
	} v = {{real, imaginary}};

	return v.value;
}

/* One element of a complex or real vector. */
double complex emu_load_complex(enum emu_type type, const void *data, int64_t index);
void emu_store_complex(enum emu_type type, void *data, int64_t index, double complex value);
