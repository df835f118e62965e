/* SPDX-License-Identifier: Apache-2.0 */

/* The work of PyTorch's kernels, from their parameters: elements, bytes, rows. */
#pragma once

#include "replay/cost/cost.h"
#include "replay/cost/name.h"

#include <gpuemu.h>

/* Fills *ret from the parameters of the launch. Parameters whose sizes do not match known versions
 * of PyTorch change nothing. Any thread. */
void emu_torch_work(const struct cost_name *kind, const struct gpuemu_launch *launch,
		    void *const *args, struct cost_launch *ret);

/* Returns 1 if the launch is attention in one kernel, and its shape. */
int emu_torch_attention(const struct cost_name *kind, const struct gpuemu_launch *launch,
			void *const *args, struct cost_attention *ret);

/* ---- within this folder ---- */

/* Of pooling, depthwise convolutions and batch norm. */
void emu_torch_image_work(const struct cost_name *kind, const struct gpuemu_launch *launch,
			  void *const *args, struct cost_launch *ret);
