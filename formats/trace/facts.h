/* SPDX-License-Identifier: Apache-2.0 */

/* Keys of facts that several modules write and read. A fact is a (key, JSON value) pair of a whole
 * trace or of one rank (formats/trace/names.h). */
#pragma once

#include "formats/trace/names.h"

#include <stdbool.h>

/* Of the whole trace: how well the clocks of several hosts were aligned. */
#define FMT_CLOCKS_KEY "clocks"

/* Collectives within another operation: they have no times of their own. */
#define FMT_WITHIN_KEY "capture.graph_collectives"

/* "off": device times were not requested, so there are no operations. Not a loss. */
#define FMT_DEVICE_TIMES_KEY "capture.device_times"
#define FMT_DIGEST_LEVEL_KEY "capture.digest_level" /* as of gpucapture --digest; missing: none */

/* "A-B": a recording of these iterations, with the calls that made what they use before them. */
#define FMT_WINDOW_KEY "capture.window"

/* Number of raw recordings that end before their programs did: the rest is not there. */
#define FMT_CUT_OFF_KEY "capture.cut_off"

/* Of a run that `gpureplay --repeat` executed several times: the number of executions, and the
 * operations that differ from themselves, by name. Of its ranks: the numbers of these operations.
 */
#define FMT_UNORDERED_KEY "replay.unordered"

/* Number of parts of a joined run that were not there. */
#define FMT_MISSING_PARTS_KEY "capture.missing_parts"

/* Facts of a rank whose process did not exit by itself before the recording ended: "running",
 * "killed by SIGSEGV", or "killed" where the signal is not known. Then one of: the call that one of
 * its threads was in, the last call that ended. */
#define FMT_ENDING_KEY "process_ending"
#define FMT_IN_CALL_KEY "process_in_call"
#define FMT_LAST_CALL_KEY "process_last_call"

/* Whether two ranks, indexes, are of one process: they share the facts `host` and `process`. */
bool fmt_same_process(const struct fmt_names *names, uint32_t a, uint32_t b);
