/* SPDX-License-Identifier: Apache-2.0 */

/* Memory pools: stream-ordered allocation. Freed memory returns to the emulated device at once, so
 * a pool only counts bytes. Any thread. */
#pragma once

#include "replay/emugpu/driver/stream.h"

struct emu_pool {
	uint32_t magic;
	struct emu_device *device;
	cuuint64_t used, used_high, threshold;
	int reuse[3]; /* attributes without effect, stored as set */
};
