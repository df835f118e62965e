/* SPDX-License-Identifier: Apache-2.0 */

/* A fat binary, and the selection of the image for a GPU. */
#include "base/scope.h"
#include "replay/emugpu/driver/code/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(emu_image_done) struct emu_image image = {.arch = 90};

	emu_image_parse_fatbin(&image, data, len, image.arch);
	return 0;
}
