/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/versions.h"

#include <stddef.h>

const struct emu_name *emu_result(int result)
{
	for (unsigned i = 0; i < emu_n_results; i++)
		if (emu_results[i].value == result)
			return &emu_results[i];
	return NULL;
}

const char *emu_result_name(int result)
{
	const struct emu_name *n = emu_result(result);

	return n ? n->name : NULL;
}
