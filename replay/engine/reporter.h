/* SPDX-License-Identifier: Apache-2.0 */

/* Builds the report from the slices of an emulated run. Not thread-safe; functions return 0 or
 * -ENOMEM. */
#pragma once

#include "formats/trace/store/trace.h"

#include "replay/clock/path.h"
#include "replay/report/report.h"
#include "replay/what_if/change.h"

struct copies;
struct reporter;

/* The emulated run has the variants of `change` (NULL: none), which must outlive the reporter. The
 * report contains the steps of the first n_predicted variants, and with `divide` the use of their
 * GPUs. `path` (NULL: none) receives the spans of the iterations in the emulated run and these
 * variants. `copies`: NULL: as recorded. */
int reporter_new(const struct fmt_trace *trace, const struct change *change, uint32_t n_predicted,
		 int divide, struct path *path, const struct copies *copies, struct reporter **ret);
void reporter_free(struct reporter *s);

/* Returns whether the iterations of the rank must be searched among the ranges of its slices. */
int reporter_needs_ranges(const struct reporter *s, uint32_t rank);

/* Adds the next slice of the rank, as recorded, with its emulated times and those of the variants
 * (as in simulate.h). `more`: the slice after it belongs to the same iteration. */
int reporter_add_slice(struct reporter *s, uint32_t rank, const struct fmt_slice *slice,
		       const int64_t *times, const int64_t *variants, int more);

/* Moves the sorted rows to *ret, and fills the start errors. */
int reporter_finish(struct reporter *s, struct replay_report *ret);
