/* SPDX-License-Identifier: Apache-2.0 */

/* Keys of facts that several modules write and read. A fact is a (key, JSON value) pair of a whole
 * trace or of one rank (formats/trace/names.h). */
#pragma once

#include "formats/trace/names.h"

#include <stdbool.h>

/* The whole trace: accuracy of the alignment of several hosts' clocks. */
#define FMT_CLOCKS_KEY "clocks"

/* Number of collectives within another operation, without their own times. */
#define FMT_WITHIN_KEY "capture.graph_collectives"

/* "off": device times were not requested, so there are no operations. Not a loss of events. */
#define FMT_DEVICE_TIMES_KEY "capture.device_times"
#define FMT_DIGEST_LEVEL_KEY "capture.digest_level" /* as of gpucapture --digest; missing: none */

/* "A-B": a recording of these iterations, preceded by the calls that created their objects. */
#define FMT_WINDOW_KEY "capture.window"

/* Number of raw recordings that end before their programs did. */
#define FMT_CUT_OFF_KEY "capture.cut_off"

/* The whole trace, after `gpureplay --repeat`: number of executions and names of the
 * nondeterministic operations. A rank: the numbers of these operations. */
#define FMT_UNORDERED_KEY "replay.unordered"

/* Number of missing parts of a joined run. */
#define FMT_MISSING_PARTS_KEY "capture.missing_parts"

/* Facts of a rank whose process did not exit by itself before the recording ended: "running",
 * "killed by SIGSEGV", or "killed" if the signal is unknown. Additionally one of: the call in
 * progress in one of its threads, or the last call that ended. */
#define FMT_ENDING_KEY "process_ending"
#define FMT_IN_CALL_KEY "process_in_call"
#define FMT_LAST_CALL_KEY "process_last_call"

/* Returns true if two ranks (indexes) belong to one process: they have the same facts `host` and
 * `process`. */
bool fmt_same_process(const struct fmt_names *names, uint32_t a, uint32_t b);
