/* SPDX-License-Identifier: Apache-2.0 */

/* A rank's part of a recorded run, beside what struct fmt_run_rank holds of it: ranges, digests,
 * and how formats/run_write.h gets them. One thread. */
#pragma once

#include "capture/recorder/ranks.h"
#include "formats/run_write.h"

/* What a rank is made of, beside its part of the run. */
struct rec_part {
	const struct rec_rank *rank;
	uint32_t *call_of;	  /* owned: of each event, its call; FMT_RUN_NONE */
	struct fmt_event *ranges; /* owned: in order */
	size_t n_ranges, ranges_cap;
	struct fmt_digest *digests; /* owned: by op, which is a position */
	size_t n_digests, digests_cap;
	struct fmt_digest *contents; /* owned: the same, with names of contents */
	size_t n_contents, contents_cap;
	int64_t first_ns, last_ns;
};

void rec_part_done(struct rec_part *p);

/* Puts ranges and digests in order. */
void rec_part_sort(struct rec_part *p);

/* How far the writer is. */
struct rec_reading {
	const struct rec_part *part;
	size_t range;
	int64_t first_content, last_content; /* iterations whose contents are wanted */
	struct fmt_digest *contents;	     /* owned by the caller: those, by number */
	size_t n_contents, contents_cap;
};

/* The part as the writer takes it; stands as long as both. No contents are wanted at first. */
struct fmt_run_source rec_part_source(const struct rec_part *part, struct rec_reading *reading);
