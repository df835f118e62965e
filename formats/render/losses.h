/* SPDX-License-Identifier: Apache-2.0 */

/* Lost events: facts of the whole trace that are counts, and their description. Thread-safe: reads
 * the trace's names only. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/trace.h"

/* Appends a line for each kind of lost events: `before`, the count, a description with the reason,
 * a newline. */
void fmt_put_losses(const struct fmt_trace *t, const char *before, struct text *out);
