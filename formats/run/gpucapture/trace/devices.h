/* SPDX-License-Identifier: Apache-2.0 */

/* The GPUs of a recording, with the properties that the PyTorch profiler writes. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"

/* Adds the names of each rank's devices, which inference uses. Returns 0 or a negative errno. */
int rec_devices_put(struct rec_process *const *processes, const struct rec_ranks *ranks,
		    struct fmt_names *names);
