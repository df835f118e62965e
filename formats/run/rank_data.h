/* SPDX-License-Identifier: Apache-2.0 */

/* Data of a rank in addition to struct fmt_run_rank: ranges and digests, and a source that passes
 * them to formats/run/write.h. One thread. */
#pragma once

#include "formats/run/write.h"

struct fmt_run_digest {
	struct fmt_digest digest; /* op is an index */
	bool is_content;	  /* the digest is the hash of a content */
};

/* Data of a rank in addition to struct fmt_run_rank. */
struct fmt_rank_data {
	uint32_t *call_of;	  /* owned: launching call of each event; FMT_RUN_NONE */
	struct fmt_event *ranges; /* owned; sorted; without varying arguments */
	size_t n_ranges, ranges_cap;
	struct fmt_run_digest *digests; /* owned; by op */
	size_t n_digests, digests_cap;
	uint64_t *pages; /* owned: of the digests */
	size_t n_pages, pages_cap;
	int64_t first_ns, last_ns; /* span of all data; INT64_MAX and INT64_MIN if empty */
};

void fmt_rank_data_done(struct fmt_rank_data *p);

/* Extends the part's span to an event or range. */
void fmt_rank_data_extend(struct fmt_rank_data *p, const struct fmt_event *e);

/* Sorts ranges and digests. Gives an empty part a span of length 0. */
void fmt_rank_data_sort(struct fmt_rank_data *p);

/* State of the source for a rank, or for a segment of one. */
struct fmt_rank_data_reader {
	const struct fmt_rank_data *part;
	size_t range;
	int64_t first_content, last_content; /* iterations whose contents are written */
	struct fmt_digest *contents;	     /* owned: contents of all segments, by number */
	size_t n_contents, contents_cap;
};

/* Returns a source for the writer, valid as long as both arguments. Contents are disabled at
 * first. `reading` is zeroed, or was used for the previous segment. */
struct fmt_run_source fmt_rank_data_source(const struct fmt_rank_data *part,
					   struct fmt_rank_data_reader *reading);

void fmt_rank_data_reader_done(struct fmt_rank_data_reader *reading);
