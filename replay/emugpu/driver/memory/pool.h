/* SPDX-License-Identifier: Apache-2.0 */

/* Memory pools: memory that is given out and taken back in the order of a stream. What is taken
 * back is free at once in the emulated device, so a pool keeps nothing; it counts. Any thread. */
#pragma once

#include "replay/emugpu/driver/stream.h"

struct emu_pool {
	uint32_t magic;
	struct emu_device *device;
	cuuint64_t used, used_high, threshold;
	int reuse[3]; /* attributes that change nothing here, kept as set */
};
