/* SPDX-License-Identifier: Apache-2.0 */

/* For the entry points that forward.txt defines as expressions of their parameters. */
#pragma once

#include "replay/emugpu/lib/blas.h"
#include "replay/emugpu/refuse.h"

/* The element type that a pointer points to; uint16_t stands for __half. */
/* clang-format off */
#define TYPE(pointer)                                                                              \
	_Generic(*(pointer), uint16_t: EMU_F16, float: EMU_F32, double: EMU_F64,                   \
		 cuComplex: EMU_C32, cuDoubleComplex: EMU_C64, int32_t: EMU_I32, int64_t: EMU_I64)
/* clang-format on */
