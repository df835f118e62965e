/* SPDX-License-Identifier: Apache-2.0 */

/* Writes an emulated run as a trace, with the recorded names and slices and new times. Not
 * thread-safe. */
#pragma once

#include "formats/trace/store/trace.h"
#include "replay/what_if/change.h"

struct rewrite;

/* Begins the trace at `path`, which must not exist. `trace` must outlive it. `what_if` is the
 * text of the change by which the run differs from the recorded one, the first variant of `change`;
 * or NULL. */
int rewrite_new(const struct fmt_trace *trace, const char *path, const char *what_if,
		const struct change *change, struct rewrite **ret, struct fmt_error *err);

/* Writes the next slice of the rank; changes its events. `times` as in simulate.h. */
int rewrite_add_slice(struct rewrite *w, uint32_t rank, struct fmt_slice *slice,
		      const int64_t *times, struct fmt_error *err);

/* Ends the trace and frees `w`. */
int rewrite_end(struct rewrite *w, struct fmt_error *err);
/* Frees `w` and leaves an incomplete trace, as a killed writer would. */
void rewrite_free(struct rewrite *w);
