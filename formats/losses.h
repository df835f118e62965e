/* SPDX-License-Identifier: Apache-2.0 */

/* What a recorder said that a trace lacks: facts of the whole trace that are counts. */
#pragma once

#include "base/text.h"
#include "formats/names.h"

/* Appends a line for each: `before`, the count and what was lost, a newline. */
void fmt_losses(const struct fmt_names *names, const char *before, struct text *out);

/* Collectives that happened within an operation, and have no times of their own. */
#define FMT_WITHIN_KEY "capture.graph_collectives"

/* "off": nobody asked when operations ran, so that there are none; that is no loss. */
#define FMT_DEVICE_TIMES_KEY "capture.device_times"

/* How many parts of a run that was joined never came. */
#define FMT_MISSING_PARTS_KEY "capture.missing_parts"
