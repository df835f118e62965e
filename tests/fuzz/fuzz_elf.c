/* SPDX-License-Identifier: Apache-2.0 */

/* A cubin; the initial values of its variables must be inside it. */
#include "base/scope.h"
#include "replay/emugpu/driver/code/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(emu_image_done) struct emu_image image = {.arch = 90};

	if (emu_image_parse_elf(&image, data, len) < 0)
		return 0;
	for (size_t i = 0; i < image.n_variables; i++) {
		const struct emu_variable *v = &image.variables[i];

		if (v->init && v->init + v->bytes > image.bytes + len)
			__builtin_trap();
	}
	return 0;
}
