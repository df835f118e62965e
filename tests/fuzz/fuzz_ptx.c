/* SPDX-License-Identifier: Apache-2.0 */

/* PTX, as text. */
#include "base/scope.h"
#include "replay/emugpu/driver/code/image.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(emu_image_done) struct emu_image image = {.arch = 90};
	scoped(free_ptr) char *text = strndup((const char *)data, len);

	if (text)
		emu_image_parse_ptx(&image, text);
	return 0;
}
