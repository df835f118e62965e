/* SPDX-License-Identifier: Apache-2.0 */

/* Reductions of collectives: sum, product, maximum, minimum, average. */
#pragma once

#include "replay/emugpu/math/element.h"

enum emu_reduction { EMU_SUM, EMU_PROD, EMU_MAX, EMU_MIN, EMU_AVG, EMU_PREMUL, EMU_REDUCTIONS };

/* out[i] = inputs[0][i] (op) inputs[1][i] ... for `count` elements, in the order of the inputs, so
 * that every reducing rank gets the same bits. Floats narrower than 32 bits are reduced as float
 * and rounded once. Integers wrap; their average is rounded towards zero. EMU_PREMUL multiplies
 * input r by scalars[r], then sums. `out` may be one of the inputs. n >= 1. */
void emu_reduce(enum emu_type type, enum emu_reduction op, void *out, const void *const *inputs,
		unsigned n, size_t count, const double *scalars);
