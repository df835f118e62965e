/* SPDX-License-Identifier: Apache-2.0 */

/* How long the files are that a mount makes of a slice, counted by whoever writes the trace: its
 * tables by number, then its part of a timeline. Not thread-safe. */
#pragma once

#include "formats/export/chrome.h"
#include "formats/export/tsv.h"
#include "formats/store/writer.h"

enum {
	FMT_LENGTH_TIMELINE = FMT_TABLES,
	FMT_LENGTH_LOOK, /* no length: fmt_chrome_look(), on which that of the timeline depends */
	FMT_LENGTHS
};

struct fmt_lengths;

/* `names` has all lanes and facts of the trace; it is not owned, and must outlive *ret. */
int fmt_lengths_new(const struct fmt_names *names, uint32_t n_ranks, struct fmt_lengths **ret);
void fmt_lengths_free(struct fmt_lengths *l);
define_cleanup(fmt_lengths_freep, struct fmt_lengths *, fmt_lengths_free);

/* Counts and stores those of the slice that `w` wrote last. 0 or a negative errno. */
int fmt_lengths_write(struct fmt_lengths *l, const struct fmt_slice *slice,
		      struct fmt_rank_writer *w);

/* Number `length` of a slice as it was stored, plus 1; 0 where that was not, or for files that
 * looked otherwise. `look` matters to FMT_LENGTH_TIMELINE. */
uint64_t fmt_lengths_stored(const struct fmt_trace *t, uint32_t rank, uint32_t slice, int length,
			    uint32_t look);
