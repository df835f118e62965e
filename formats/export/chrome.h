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
 * fmt_chrome remembers how each site looks; it is for one thread at a time. Functions return 0 or a
 * negative errno, and out->error says whether the text could be written.
 */
#pragma once

#include "base/text.h"
#include "formats/part.h"

/* To be raised with every change to what a document looks like. */
#define FMT_CHROME_VERSION 1u

enum fmt_chrome_form { FMT_CHROME_MERGED, FMT_CHROME_RANK };

struct fmt_chrome;

/* `names` is not owned, and must outlive *ret; sites and strings may be added to it, but no lanes.
 * `rank` (an index) matters to FMT_CHROME_RANK only. */
int fmt_chrome_new(const struct fmt_names *names, uint32_t n_ranks, enum fmt_chrome_form form,
		   uint32_t rank, struct fmt_chrome **ret);
void fmt_chrome_free(struct fmt_chrome *x);
define_cleanup(fmt_chrome_freep, struct fmt_chrome *, fmt_chrome_free);

/* What stands before the events: facts, names of processes and threads of the part. */
void fmt_chrome_head(struct fmt_chrome *x, const struct fmt_trace *t, const struct fmt_part *part,
		     struct text *out);

/* A slice that was loaded with FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_RANGES. -EBADMSG where it
 * refers to what its trace does not have.
 */
int fmt_chrome_slice(struct fmt_chrome *x, const struct fmt_slice *slice, struct text *out);

/* The bytes that fmt_chrome_slice() would append. */
int fmt_chrome_length(struct fmt_chrome *x, const struct fmt_slice *slice, uint64_t *ret);

/* What the lengths of a rank's slices depend on beside the slices and what they refer to: a number
 * that is another where the document has another form, other processes or another begin of time. */
uint32_t fmt_chrome_look(const struct fmt_chrome *x, uint32_t rank);

void fmt_chrome_tail(struct text *out);

/* All of that for a part of `t`; the text is flushed. */
int fmt_chrome(struct fmt_trace *t, enum fmt_chrome_form form, const struct fmt_part *part,
	       struct text *out, struct fmt_error *err);
