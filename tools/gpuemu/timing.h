/* SPDX-License-Identifier: Apache-2.0 */

/* The durations of a recorded run, in the format that the emulated driver reads. */
#pragma once

#include "formats/trace/store/trace.h"

/* Writes lines of tab-separated fields to `fd`:
 *
 *     kernel NAME GX GY GZ BX BY BZ NS    for each kernel and shape: mean of its launches
 *     sized WHAT 0 BYTES NS               for each kind of copy ("in", "pageable out") and size
 *     sized WHAT RANKS BYTES NS           for each kind of collective ("all_reduce"), number of
 *                                         ranks and size: mean duration on the shortest rank
 *
 * Returns 0 or a negative errno, as fmt_slice_load(). */
int gpuemu_timing_write(struct fmt_trace *trace, int fd, struct fmt_error *err);
