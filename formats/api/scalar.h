/* SPDX-License-Identifier: Apache-2.0 */

/* Types of alpha and beta of cuBLAS and cuBLASLt, for calls whose name does not contain it.
 * Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct api_scalar {
	const char *name;
	uint8_t type;  /* cudaDataType */
	uint8_t bytes; /* of all parts */
	uint8_t parts; /* 2: complex */
	bool is_real;  /* float or double */
};

/* Return NULL for another cudaDataType, and for an unknown name. */
const struct api_scalar *api_scalar(uint64_t type);
const struct api_scalar *api_scalar_named(const char *name);

/* Returns the type of alpha and beta for a cublasComputeType_t and the cudaDataType of the result,
 * or NULL. */
const struct api_scalar *api_scalar_of_compute(uint64_t compute, uint64_t result);
