/* SPDX-License-Identifier: Apache-2.0 */

/* The Chrome JSON of a part of a trace, slice by slice. Thread-safe. Internal to fs/. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/trace.h"

struct fs_timeline;

/* `trace` is not owned, and must outlive *ret. */
int fs_timeline_new(struct fmt_trace *trace, struct fs_timeline **ret);
void fs_timeline_free(struct fs_timeline *l);

/* Append the text before the slices; the text of a slice from item `first`; the text after all
 * slices. */
int fs_timeline_head(struct fs_timeline *l, int64_t iteration, int64_t rank, struct text *out);
int fs_timeline_slice(struct fs_timeline *l, const struct fmt_slice *slice, size_t first,
		      struct text *out);
/* See fmt_chrome_offsets(). */
int fs_timeline_offsets(struct fs_timeline *l, const struct fmt_slice *slice, uint64_t *marks,
			uint64_t *length);

void fs_timeline_tail(struct text *out);
