/* SPDX-License-Identifier: Apache-2.0 */

/* Integers, without rounding and with wrap-around. */
#pragma once

#include "replay/emugpu/math/element.h"
#include "replay/emugpu/torch/functions.h"

/* Returns 1 for integers that an int64_t can represent, and bool. */
static inline int emu_torch_is_integer(enum emu_type type)
{
	return (type >= EMU_I8 && type <= EMU_I64) || type == EMU_I16;
}

/* Reads and writes an integer, with wrap-around. */
static inline int64_t emu_torch_load_integer(enum emu_type type, const void *at)
{
	int64_t v = 0;

	if (type != EMU_I64)
		return (int64_t)emu_load(type, at, 0);
	memcpy(&v, at, sizeof(v));
	return v;
}

static inline void emu_torch_store_integer(enum emu_type type, void *at, int64_t v)
{
	memcpy(at, &v, emu_type_bytes(type));
}

/* As emu_torch_apply(). Returns 0 for an operation without a form for integers, else 1. */
int emu_torch_apply_integers(enum emu_torch_op op, const int64_t in[EMU_TORCH_INPUTS],
			     const int64_t s[4], int64_t *ret);
