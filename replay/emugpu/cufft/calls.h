/* SPDX-License-Identifier: Apache-2.0 */

/* Macros and functions for the expressions of forward.txt. */
#pragma once

#include "replay/emugpu/lib/blas.h"

#include <cufftXt.h>

/* Returns CUFFT_INVALID_PLAN for an invalid handle. */
cufftResult emu_cufft_check(cufftHandle plan);
