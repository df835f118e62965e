/* SPDX-License-Identifier: Apache-2.0 */

/* The GPUs of a recording, with the properties that the PyTorch profiler writes. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"

/* Names the devices of each rank, which inference looks at. 0 or a negative errno. */
int rec_devices_put(struct rec_process *const *processes, const struct rec_ranks *ranks,
		    struct fmt_names *names);
