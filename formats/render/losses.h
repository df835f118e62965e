/* SPDX-License-Identifier: Apache-2.0 */

/* Data that a recorder lost: facts of the whole trace that are counts, and their wording. Reads the
 * trace's names only: any number of threads at once. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/trace.h"

/* Appends a line for each kind of lost events: `before`, the count, what was lost and why, a
 * newline. */
void fmt_losses(const struct fmt_trace *t, const char *before, struct text *out);
