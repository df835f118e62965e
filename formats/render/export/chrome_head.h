/* SPDX-License-Identifier: Apache-2.0 */

/* The head of a Chrome document: everything before the events, and the numbers of its processes.
 * Internal to formats/render/export. */
#pragma once

#include "base/text.h"
#include "formats/trace/store/part.h"

struct fmt_chrome_track {
	uint32_t at, len; /* in the pool: `0,"tid":7`, from behind `"pid":` on */
};

/* Processes and threads of all ranks as the events of a document name them. */
struct fmt_chrome_tracks {
	struct text pool;
	struct fmt_chrome_track **of; /* [rank][track] */
	uint32_t n_ranks;
};

/* fmt_chrome_tracks_done() ends what this began, also where it fails. */
int fmt_chrome_tracks_init(struct fmt_chrome_tracks *l, const struct fmt_names *names,
			   uint32_t n_ranks, bool merged);
void fmt_chrome_tracks_done(struct fmt_chrome_tracks *l);

/* The moment that times are relative to. */
struct fmt_chrome_base {
	int64_t ns;
	bool known;  /* else the recorder wrote times since 1970, and ns is 0 */
	bool common; /* the same for all ranks of the document */
};

/* Of `rank`, or merged of the n_ranks from it on. */
struct fmt_chrome_base fmt_chrome_base(const struct fmt_names *names, uint32_t rank,
				       uint32_t n_ranks);

void fmt_chrome_head_rank(const struct fmt_trace *t, uint32_t rank, struct text *out);
void fmt_chrome_head_merged(const struct fmt_trace *t, const struct fmt_chrome_tracks *l,
			    const struct fmt_part *part, const struct fmt_chrome_base *base,
			    struct text *out);
