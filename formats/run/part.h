/* SPDX-License-Identifier: Apache-2.0 */

/* A rank's part of a run in memory, beside what struct fmt_run_rank holds of it: ranges, digests,
 * and how formats/run/write.h gets them. One thread. */
#pragma once

#include "formats/run/write.h"

struct fmt_run_digest {
	struct fmt_digest digest; /* op is a position */
	bool is_content;	  /* the name of a content in place of a digest */
};

/* Data of a rank, in addition to its part of the run. */
struct fmt_run_part {
	uint32_t *call_of;	  /* owned: of each event, its call; FMT_RUN_NONE */
	uint8_t *keeps;		  /* owned: of each event, if a window keeps it from before; NULL */
	struct fmt_event *ranges; /* owned: in order */
	size_t n_ranges, ranges_cap;
	int64_t *values; /* owned: of the ranges, as in struct fmt_slice */
	size_t n_values, values_cap;
	struct fmt_run_digest *digests; /* owned: by op */
	size_t n_digests, digests_cap;
	uint64_t *pages; /* owned: of the digests */
	size_t n_pages, pages_cap;
	int64_t first_ns, last_ns; /* of everything: INT64_MAX and INT64_MIN to begin with */
};

void fmt_run_part_done(struct fmt_run_part *p);

/* Widens the part's span to that of an event or range. */
void fmt_run_part_span(struct fmt_run_part *p, const struct fmt_event *e);

/* Sorts ranges and digests. An empty part gets a span of length 0. */
void fmt_run_part_sort(struct fmt_run_part *p);

/* Position of the writer in a rank, or in a segment of one. */
struct fmt_run_reading {
	const struct fmt_run_part *part;
	const struct fmt_names *names;
	size_t range;
	int64_t first_content, last_content; /* iterations whose contents are wanted */
	struct fmt_digest *contents;	     /* owned: those of all segments, by number */
	size_t n_contents, contents_cap;
};

/* The part as a source for the writer; valid as long as all three arguments. Reads no contents at
 * first. `reading` is zero, or was used for the segment before. */
struct fmt_run_source fmt_run_part_source(const struct fmt_run_part *part,
					  const struct fmt_names *names,
					  struct fmt_run_reading *reading);

void fmt_run_reading_done(struct fmt_run_reading *reading);
