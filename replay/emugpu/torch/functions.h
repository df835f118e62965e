/* SPDX-License-Identifier: Apache-2.0 */

/* Functions of elements and scalars: rows of functions.def. */
#pragma once
#include <stddef.h>
enum { EMU_TORCH_INPUTS = 7, EMU_TORCH_BLOCK = 256 };
enum emu_torch_op {
	EMU_OP_NONE,
#define OP(name, value) EMU_OP_##name,
#define OP_OF_INTEGERS(name, value, of_integers) OP(name, value)
#include "replay/emugpu/torch/functions.def"
#undef OP
#undef OP_OF_INTEGERS
};

/* `in` are the elements, `s` the scalars. Pure. */
double emu_torch_apply(enum emu_torch_op op, const double in[EMU_TORCH_INPUTS], const double s[4]);
/* The same for n <= EMU_TORCH_BLOCK elements, of which `inputs` inputs are read. */
void emu_torch_apply_all(enum emu_torch_op op, size_t n, int inputs,
			 const double in[EMU_TORCH_INPUTS][EMU_TORCH_BLOCK], const double s[4],
			 double out[EMU_TORCH_BLOCK]);
