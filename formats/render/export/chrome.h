/* SPDX-License-Identifier: Apache-2.0 */

/* A trace as Chrome trace-event JSON, which ui.perfetto.dev and chrome://tracing open, and which
 * the profiler importer reads.
 *
 * Two forms. FMT_CHROME_RANK is one rank in the format of its recorder: importing it restores the
 * rank exactly. FMT_CHROME_MERGED shows all ranks together: process ids are renumbered to differ
 * between ranks. For a trace of one rank both forms are equal.
 *
 * Each event is one line. A document consists of a head, its slices and a tail:
 *
 *     fmt_chrome_new(fmt_trace_names(t), fmt_trace_n_ranks(t), FMT_CHROME_MERGED, 0, &x);
 *     fmt_chrome_head(x, t, &part, out);
 *     fmt_chrome_slice(x, slice, out);             each slice of the part, of any rank
 *     text_str(out, FMT_CHROME_TAIL);
 *
 * The length of a slice's text does not depend on other slices, so lengths of documents are sums. A
 * struct fmt_chrome caches the text of each template. Thread-safe. Functions return 0 or a negative
 * errno; out->error is set if the text could not be written. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/part.h"

enum fmt_chrome_form { FMT_CHROME_MERGED, FMT_CHROME_RANK };

struct fmt_chrome;

/* `names` is not owned, must outlive *ret and must not change. `rank` (an index) is used by
 * FMT_CHROME_RANK only. */
int fmt_chrome_new(const struct fmt_names *names, uint32_t n_ranks, enum fmt_chrome_form form,
		   uint32_t rank, struct fmt_chrome **ret);
void fmt_chrome_free(struct fmt_chrome *x);
define_cleanup(fmt_chrome_freep, struct fmt_chrome *, fmt_chrome_free);

/* Appends facts, and names of processes and threads of the part, before the events. */
void fmt_chrome_head(struct fmt_chrome *x, const struct fmt_trace *t, const struct fmt_part *part,
		     struct text *out);

/* Appends a slice that was loaded with FMT_WANT_CALLS, FMT_WANT_OPS and FMT_WANT_RANGES. -EBADMSG:
 * it refers to missing names. */
int fmt_chrome_slice(struct fmt_chrome *x, const struct fmt_slice *slice, struct text *out);

/* Appends the items of a slice from `first` on. The items are its events, then its ranges. */
int fmt_chrome_slice_from(struct fmt_chrome *x, const struct fmt_slice *slice, size_t first,
			  struct text *out);

/* Counts without rendering: sets *length to the number of bytes that fmt_chrome_slice() would
 * append, and marks[i / step] to the number of bytes before item i, for each multiple i of
 * FMT_CHROME_STEP. `marks` may be NULL. */
#define FMT_CHROME_STEP 1024u
int fmt_chrome_offsets(struct fmt_chrome *x, const struct fmt_slice *slice, uint64_t *marks,
		       uint64_t *length);

#define FMT_CHROME_TAIL "\n]}\n"

/* Renders a part of `t` as a whole document; flushes the text. Omits damaged slices and counts them
 * in part->left_out. */
int fmt_chrome(struct fmt_trace *t, enum fmt_chrome_form form, const struct fmt_part *part,
	       struct text *out, struct fmt_error *err);
