/* SPDX-License-Identifier: Apache-2.0 */

/* Sizes of the work of PyTorch's kernels, from their arguments. */
#pragma once

#include "replay/cost/name.h"
#include "replay/emugpu/driver/code/image.h"

/* Sets elements, columns and bytes of `ret` where the arguments of such a kernel contain them, and
 * leaves the others. `ret` has the grid and the block. */
void emu_work_of_arguments(const struct emu_entry *entry, const struct cost_name *kind,
			   void *const *args, struct cost_launch *ret);
