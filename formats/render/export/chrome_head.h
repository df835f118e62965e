/* SPDX-License-Identifier: Apache-2.0 */

/* The head of a Chrome document: everything before the events, and the ids of its processes.
 * Internal to formats/render/export. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/part.h"

struct fmt_chrome_track {
	uint32_t at, len; /* in the pool: `0,"tid":7`, the text after `"pid":` */
	uint32_t first;	  /* the rank's first track of the same process */
};

/* Process and thread ids of all ranks, as used in the events of a document. */
struct fmt_chrome_tracks {
	struct text pool;
	struct fmt_chrome_track **tracks; /* [rank][track] */
	uint32_t n_ranks;
};

/* Call fmt_chrome_tracks_done() even after an error. */
int fmt_chrome_tracks_init(struct fmt_chrome_tracks *l, const struct fmt_names *names,
			   uint32_t n_ranks, bool merged);
void fmt_chrome_tracks_done(struct fmt_chrome_tracks *l);

/* The time that times in the document are relative to. */
struct fmt_chrome_base {
	int64_t ns;
	bool known;  /* false: recorded times are relative to 1970, and ns is 0 */
	bool common; /* equal for all ranks of the document */
};

/* Returns the base of `rank`, or, for a merged document, of n_ranks ranks from `rank`. */
struct fmt_chrome_base fmt_chrome_base(const struct fmt_names *names, uint32_t rank,
				       uint32_t n_ranks);

void fmt_chrome_head_rank(const struct fmt_trace *t, uint32_t rank, struct text *out);
void fmt_chrome_head_merged(const struct fmt_trace *t, const struct fmt_chrome_tracks *l,
			    const struct fmt_part *part, const struct fmt_chrome_base *base,
			    struct text *out);
