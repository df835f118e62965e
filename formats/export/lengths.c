/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/export/lengths.h"

struct fmt_lengths {
	struct fmt_tsv *tables;
	struct fmt_chrome *timeline;
};

int fmt_lengths_new(const struct fmt_names *names, uint32_t n_ranks, struct fmt_lengths **ret)
{
	scoped(fmt_lengths_freep) struct fmt_lengths *l = calloc(1, sizeof(*l));
	int r = l ? fmt_tsv_new(names, &l->tables) : -ENOMEM;

	if (r == 0)
		r = fmt_chrome_new(names, n_ranks, FMT_CHROME_MERGED, 0, &l->timeline);
	if (r == 0)
		*ret = take(l);
	return r;
}

void fmt_lengths_free(struct fmt_lengths *l)
{
	if (!l)
		return;
	fmt_tsv_free(l->tables);
	fmt_chrome_free(l->timeline);
	free(l);
}

int fmt_lengths_write(struct fmt_lengths *l, const struct fmt_slice *slice,
		      struct fmt_rank_writer *w)
{
	uint64_t found[FMT_LENGTHS] = {[FMT_LENGTH_LOOK] =
					       fmt_chrome_look(l->timeline, slice->rank)};
	int r = fmt_tsv_lengths(l->tables, slice, found);

	if (r == 0)
		r = fmt_chrome_length(l->timeline, slice, &found[FMT_LENGTH_TIMELINE]);
	if (r < 0)
		return r;
	return fmt_writer_lengths(w, FMT_TSV_VERSION, found, FMT_LENGTHS);
}

uint64_t fmt_lengths_stored(const struct fmt_trace *t, uint32_t rank, uint32_t slice, int length,
			    uint32_t look)
{
	const uint64_t *stored;
	uint32_t renderer = 0, n = fmt_trace_lengths(t, rank, slice, &renderer, &stored);

	if (n <= (uint32_t)length || renderer != FMT_TSV_VERSION || stored[length] >= INT64_MAX)
		return 0;
	if (length == FMT_LENGTH_TIMELINE && (n != FMT_LENGTHS || stored[FMT_LENGTH_LOOK] != look))
		return 0;
	return stored[length] + 1;
}
