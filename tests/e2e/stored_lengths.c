/* SPDX-License-Identifier: Apache-2.0 */

/* Whether a trace says how long the files of its slices are, and is right: stored_lengths TRACE.
 * Prints each that is missing or wrong; 1 if there was one. */
#include "formats/export/lengths.h"
#include "formats/store/trace.h"

#include <inttypes.h>

struct checking {
	struct fmt_trace *trace;
	struct fmt_tsv *tables;
	struct fmt_chrome *timeline;
	int wrong;
};

static int check(struct checking *c, uint32_t rank, uint32_t k, const struct fmt_slice *slice)
{
	uint32_t look = fmt_chrome_look(c->timeline, rank);

	for (int i = 0; i <= FMT_LENGTH_TIMELINE; i++) {
		uint64_t stored = fmt_lengths_stored(c->trace, rank, k, i, look);
		scoped(text_done) struct text t = {0};
		int r;

		if (i == FMT_LENGTH_TIMELINE)
			r = fmt_chrome_slice(c->timeline, slice, &t);
		else
			r = fmt_tsv_rows(c->tables, (enum fmt_table)i, slice, &t);
		if (r < 0)
			return r;
		if (stored == t.len + 1)
			continue;
		printf("rank %u, slice %u, file %d: %zu bytes, stored %" PRIi64 "\n", rank, k, i,
		       t.len, (int64_t)stored - 1);
		c->wrong = 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct fmt_part all = FMT_WHOLE;
	struct fmt_error err = {.what = ""};
	struct checking c = {0};
	struct fmt_walk walk;
	int r;

	if (argc != 2)
		return 2;
	r = fmt_trace_open(argv[1], &c.trace, &err);
	if (r == 0)
		r = fmt_tsv_new(fmt_trace_names(c.trace), &c.tables);
	if (r == 0)
		r = fmt_chrome_new(fmt_trace_names(c.trace), fmt_trace_n_ranks(c.trace),
				   FMT_CHROME_MERGED, 0, &c.timeline);
	if (r == 0)
		walk = fmt_walk(c.trace, &all);
	while (r == 0 && fmt_walk_next(&walk)) {
		scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;

		r = fmt_slice_load(c.trace, walk.rank, walk.slice, FMT_WANT_ALL, &slice, &err);
		if (r == 0)
			r = check(&c, walk.rank, walk.slice, slice);
	}
	if (r < 0)
		fprintf(stderr, "%s: %s %s\n", argv[1], strerror(-r), err.what);
	fmt_chrome_free(c.timeline);
	fmt_tsv_free(c.tables);
	fmt_trace_close(c.trace);
	return r < 0 ? 3 : c.wrong;
}
