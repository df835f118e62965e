/* SPDX-License-Identifier: Apache-2.0 */

/* The durations of a recorded run, as the emulated driver reads them. */
#pragma once

#include "formats/trace.h"

/* Writes to `fd` a line "kernel NAME GX GY GZ BX BY BZ NS", separated by tabs, for each kernel and
 * shape of the trace: the mean over its launches. 0 or a negative errno, as fmt_slice_load(). */
int gpuemu_timing_write(struct fmt_trace *trace, int fd, struct fmt_error *err);
