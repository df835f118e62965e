/* SPDX-License-Identifier: Apache-2.0 */

/* Joining traces into one that appears complete or not at all: what `gputrace join` does, and the
 * last gpucapture of a run. For main threads. */
#pragma once

#include "formats/run/join/join.h"

/* Joins into `output`; prints what goes wrong, and returns the exit status. With `force` a trace
 * that is there is replaced. */
int joining_run(const struct fmt_join *join, const char *output, int force,
		struct fmt_join_result *ret);
