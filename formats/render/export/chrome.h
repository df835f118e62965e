/* SPDX-License-Identifier: Apache-2.0 */

/* A trace as Chrome trace-event JSON, which ui.perfetto.dev and chrome://tracing open, and which
 * the profiler importer reads.
 *
 * Two forms. FMT_CHROME_RANK is one rank as its recorder would have written it: importing it again
 * gives the rank back to the nanosecond. FMT_CHROME_MERGED puts all ranks side by side for the eye:
 * processes get numbers that differ over ranks. A merged trace of one rank is its FMT_CHROME_RANK.
 *
 * One event stands on one line. A document is a head, its slices, a tail:
 *
 *     fmt_chrome_new(fmt_trace_names(t), fmt_trace_n_ranks(t), FMT_CHROME_MERGED, 0, &x);
 *     fmt_chrome_head(x, t, &part, out);
 *     fmt_chrome_slice(x, slice, out);             each slice of the part, of any rank
 *     fmt_chrome_tail(out);
 *
 * How much a slice takes depends on no other slice, so lengths of documents are sums. A struct
 * fmt_chrome remembers how each template looks; it is for one thread at a time. Functions return 0
 * or a negative errno, and out->error says whether the text could be written.
 */
#pragma once

#include "base/text.h"
#include "formats/trace/store/part.h"

enum fmt_chrome_form { FMT_CHROME_MERGED, FMT_CHROME_RANK };

struct fmt_chrome;

/* `names` is not owned, and must outlive *ret; templates and strings may be added to it, but no
 * tracks. `rank` (an index) matters to FMT_CHROME_RANK only. */
int fmt_chrome_new(const struct fmt_names *names, uint32_t n_ranks, enum fmt_chrome_form form,
		   uint32_t rank, struct fmt_chrome **ret);
void fmt_chrome_free(struct fmt_chrome *x);
define_cleanup(fmt_chrome_freep, struct fmt_chrome *, fmt_chrome_free);

/* Memory that grows with the slices that were rendered. */
size_t fmt_chrome_bytes(const struct fmt_chrome *x);

/* Facts, and names of processes and threads of the part; comes before the events. */
void fmt_chrome_head(struct fmt_chrome *x, const struct fmt_trace *t, const struct fmt_part *part,
		     struct text *out);

/* A slice that was loaded with FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_RANGES. -EBADMSG where it
 * refers to what its trace does not have.
 */
int fmt_chrome_slice(struct fmt_chrome *x, const struct fmt_slice *slice, struct text *out);

/* The same from item `first` on. The items of a slice are its events, then its ranges. */
int fmt_chrome_slice_from(struct fmt_chrome *x, const struct fmt_slice *slice, size_t first,
			  struct text *out);

/* Counts without rendering: sets *length to the bytes that fmt_chrome_slice() would append, and
 * marks[i / step] to those that stand before item i, for each multiple i of FMT_CHROME_STEP.
 * `marks` may be NULL. */
#define FMT_CHROME_STEP 1024u
int fmt_chrome_marks(struct fmt_chrome *x, const struct fmt_slice *slice, uint64_t *marks,
		     uint64_t *length);

void fmt_chrome_tail(struct text *out);

/* All of that for a part of `t`; the text is flushed. Damaged slices are left out and counted in
 * part->left_out. */
int fmt_chrome(struct fmt_trace *t, enum fmt_chrome_form form, const struct fmt_part *part,
	       struct text *out, struct fmt_error *err);
