/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/handle.h"

#include <stdio.h>
#include <stdlib.h>

int emu_is_alive(uint32_t magic, uint32_t expected, const char *noun)
{
	if (magic == expected)
		return 1;
	if (getenv("GPUEMU_STRICT")) {
		fprintf(stderr, "gpuemu: a call uses a %s that was destroyed or never created\n",
			noun);
		abort();
	}
	return 0;
}

uint64_t emu_new_id(void)
{
	static uint64_t last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}
