/* SPDX-License-Identifier: Apache-2.0 */

/* Checks for C++ programs: the first failed check ends the program. */
#pragma once

#include "tests/emugpu/check_true.h"

#include <cuda_runtime.h>

static inline void check_is(cudaError_t got, cudaError_t want, const char *call, int line)
{
	if (got == want)
		return;
	fprintf(stderr, "line %d: %s gave %s\n", line, call, cudaGetErrorName(got));
	exit(1);
}

#define OK(call) check_is(call, cudaSuccess, #call, __LINE__)
#define FAILS(call, why)                                                                           \
	do {                                                                                       \
		check_is(call, why, #call, __LINE__);                                              \
		cudaGetLastError();                                                                \
	} while (0)
