/* SPDX-License-Identifier: Apache-2.0 */

/* Annotations: NVTX ranges and marks, and where the program says that an iteration begins. */
#pragma once

#include "formats/run/gpucapture/process/call.h"

/* 0 or a negative errno. */
int rec_range(struct rec_process *p, struct rec_thread *t, const struct cap_range_record *r);
