/* SPDX-License-Identifier: Apache-2.0 */

/* The Chrome JSON of a part of a trace, slice by slice, for any number of threads at once.
 * Internal to fs/. */
#pragma once

#include "base/text.h"
#include "formats/store/trace.h"

struct fs_timeline;

/* `trace` is not owned, and must outlive *ret. */
int fs_timeline_new(struct fmt_trace *trace, struct fs_timeline **ret);
void fs_timeline_free(struct fs_timeline *l);

/* fmt_chrome_look() */
uint32_t fs_timeline_look(const struct fs_timeline *l, uint32_t rank);

/* What stands before, for each slice of, and after the part. */
int fs_timeline_head(struct fs_timeline *l, int64_t iteration, int64_t rank, struct text *out);
int fs_timeline_slice(struct fs_timeline *l, const struct fmt_slice *slice, struct text *out);
void fs_timeline_tail(struct text *out);
