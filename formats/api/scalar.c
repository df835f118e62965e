/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/api/scalar.h"

#include "base/array.h"

#include <string.h>

enum { R_32F = 0, R_64F = 1, R_16F = 2, R_32I = 10 }; /* cudaDataType */

static const struct api_scalar scalars[] = {
	{"R_32F", R_32F, 4, 1, true}, {"C_32F", 4, 8, 2, true},	 {"R_64F", R_64F, 8, 1, true},
	{"C_64F", 5, 16, 2, true},    {"R_16F", R_16F, 2, 1, 0}, {"C_16F", 6, 4, 2, 0},
	{"R_16BF", 14, 2, 1, 0},      {"C_16BF", 15, 4, 2, 0},	 {"R_32I", R_32I, 4, 1, 0},
};

const struct api_scalar *api_scalar(uint64_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(scalars); i++)
		if (scalars[i].type == type)
			return &scalars[i];
	return NULL;
}

const struct api_scalar *api_scalar_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(scalars); i++)
		if (strcmp(scalars[i].name, name) == 0)
			return &scalars[i];
	return NULL;
}

const struct api_scalar *api_scalar_of_compute(uint64_t compute, uint64_t result)
{
	/* From CUBLAS_COMPUTE_16F (64) on; 0: not a type. */
	static const uint8_t real[] = {R_16F + 1, R_16F + 1, 0,		0,
				       R_32F + 1, R_32F + 1, R_64F + 1, R_64F + 1,
				       R_32I + 1, R_32I + 1, R_32F + 1, R_32F + 1,
				       0,	  R_32F + 1, R_32F + 1, R_64F + 1};
	const struct api_scalar *of = api_scalar(result);
	bool is_complex = of && of->parts == 2;

	if (compute - 64 >= sizeof(real) || real[compute - 64] == 0)
		return NULL;
	/* The complex types have the numbers of the real ones plus 4. */
	return api_scalar(real[compute - 64] - 1u + (is_complex ? 4 : 0));
}
