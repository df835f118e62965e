/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/math/complex_element.h"

double complex emu_load_complex(enum emu_type type, const void *data, int64_t index)
{
	if (type == EMU_C32)
		return emu_complex(((const float *)data)[2 * index],
				   ((const float *)data)[2 * index + 1]);
	if (type == EMU_C64)
		return emu_complex(((const double *)data)[2 * index],
				   ((const double *)data)[2 * index + 1]);
	return emu_load(type, data, index);
}

void emu_store_complex(enum emu_type type, void *data, int64_t index, double complex value)
{
	if (type == EMU_C32) {
		((float *)data)[2 * index] = (float)creal(value);
		((float *)data)[2 * index + 1] = (float)cimag(value);
	} else if (type == EMU_C64) {
		((double *)data)[2 * index] = creal(value);
		((double *)data)[2 * index + 1] = cimag(value);
	} else {
		emu_store(type, data, index, creal(value));
	}
}
