/* SPDX-License-Identifier: Apache-2.0 */

#include "base/scope.h"
#include "formats/render/export/svg.h"
#include "formats/render/report/report.h"
#include "fs/render.h"

/* Returns 1 if a slice of a file about a single GPU is damaged. Reports and pictures omit damaged
 * slices, which is right for the whole run but not for a file about a single one. */
static int needs_damaged(const struct fs_tree *t, const struct fs_node *where)
{
	struct fmt_walk w = fs_tree_walk(t, where);

	if (w.part.rank == FMT_ANY)
		return 0;
	while (fmt_walk_next(&w))
		if (w.info->damaged)
			return 1;
	return 0;
}

/* The cache must be able to hold this many slices until the report uses them. */
#define AHEAD_SLICES 64u

/* Decodes the slices of an iteration into the cache, because other files of the iteration need the
 * same slices. The report handles damaged slices. */
static void load_ahead(struct fs_tree *t, const struct fs_node *where)
{
	struct fmt_walk w = fs_tree_walk(t, where);

	if (w.part.iteration == FMT_ANY)
		return;
	for (uint32_t n = 0; n < AHEAD_SLICES && fmt_walk_next(&w); n++) {
		struct fs_item *item;

		if (fs_tree_slice(t, w.rank, w.slice, &item) == 0)
			fs_cache_put(t->cache, item);
	}
}

/* Wait times require the slices of all ranks. For files of single GPUs the cost would be quadratic
 * in the number of ranks, so only the summary of the iteration contains them. */
static bool looks_across(const struct fmt_part *part)
{
	return part->rank == FMT_ANY;
}

int fs_render_summary(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	struct fmt_part part = fs_tree_part(t, fs_scope_of(where));
	struct fmt_report_style style = {0};
	scoped(fmt_report_freep) struct fmt_report *report = NULL;
	int r;

	load_ahead(t, where);
	r = fmt_report_new(t->trace, &part, looks_across(&part), &report, NULL);

	if (r < 0)
		return r;
	fmt_report_text(report, &style, out);
	return needs_damaged(t, where) ? -EBADMSG : 0;
}

int fs_render_svg(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	struct fmt_part part = fs_tree_part(t, fs_scope_of(where));
	int r;

	load_ahead(t, where);
	r = fmt_svg(t->trace, &part, looks_across(&part), out, NULL);

	return r == 0 && needs_damaged(t, where) ? -EBADMSG : r;
}
