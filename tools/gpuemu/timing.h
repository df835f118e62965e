/* SPDX-License-Identifier: Apache-2.0 */

/* The durations of a recorded run, as the emulated driver reads them. */
#pragma once

#include "formats/trace/store/trace.h"

/* Writes to `fd` lines of fields separated by tabs:
 *
 *     kernel NAME GX GY GZ BX BY BZ NS    for each kernel and shape: the mean over its launches
 *     sized WHAT 0 BYTES NS               for each kind of copy ("in", "pageable out") and size
 *     sized WHAT RANKS BYTES NS           for each kind of collective ("all_reduce"), ranks and
 *                                         size: the mean of what its shortest rank took
 *
 * 0 or a negative errno, as fmt_slice_load(). */
int gpuemu_timing_write(struct fmt_trace *trace, int fd, struct fmt_error *err);
