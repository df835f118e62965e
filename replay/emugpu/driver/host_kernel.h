/* SPDX-License-Identifier: Apache-2.0 */

/* The registry of host kernels, by name (gpuemu.h). Any thread. */
#pragma once

#include "replay/emugpu/refuse.h"

#include <gpuemu.h>

/* The result of a lookup. */
struct emu_host_kernel {
	const struct gpuemu_kernel *kernel; /* NULL: not registered */
	unsigned generation;		    /* of the registry at the lookup; 0: no lookup yet */
};

/* Returns the host kernel of `symbol`, or NULL. `cache` belongs to that symbol; it is refreshed
 * after registrations. */
const struct gpuemu_kernel *emu_host_kernel_find(const char *symbol, struct emu_host_kernel *cache);

/* Loads the plug-ins in $GPUEMU_PLUGINS and the recorded durations in $GPUEMU_TIMING. Failures are
 * reported on stderr. */
void emu_host_kernels_load(void);

gpuemu_register_kernel_fn gpuemu_register_kernel;
