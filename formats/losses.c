/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/losses.h"

#include "base/array.h"
#include "formats/memberships.h"
#include "formats/report/grid.h"

static const struct {
	const char *key, *what;
	const char *why; /* a fact that says it; may be NULL */
} losses[] = {
	{FMT_MISSING_PARTS_KEY, "parts of the run (missing_parts says which)"},
	{FMT_MISSING_KEY, "ranks of the largest communicator (missing_ranks says which)"},
	{"capture.processes_running", "processes that went on when the program had ended"},
	{"capture.processes_killed",
	 "processes that were killed or aborted: what they had under way has no end"},
	{"capture.calls_missing", "calls that were begun and not recorded", "capture.stopped"},
	{"capture.calls_without_ring", "calls of threads that got no ring", "capture.no_ring"},
	{"capture.calls_of_forked_children", "calls of forked children, with their parent's CUDA"},
	{"capture.lost_records", "records that found no room in a ring", "capture.stopped"},
	{"capture.operations_without_times", "operations without device times, left out",
	 "capture.untimed"},
	{"capture.unended_calls", "calls that had not returned when their thread ended"},
	{"capture.damaged", "stretches of rings that made no sense"},
	{"capture.graph_changes", "changes of executable graphs that their calls alone tell of"},
	{"capture.graphs_whole",
	 "executable graphs whose nodes could not be timed: a launch is one operation"},
	{"capture.launches_without_parameters", "launches whose parameters are not known: the "
						"driver says where they lie from CUDA 12.4 on"},
	{FMT_WITHIN_KEY, "collectives in launches of CUDA graphs that are one operation: without "
			 "times of their own"},
	{"capture.collectives_lost",
	 "collectives of CUDA graphs whose nodes were not found again: they are kernels"},
	{"capture.unknown_handles", "handles that were used but never seen made"},
	{"capture.unmatched_collectives", "collectives of communicators that are not known"},
	{"capture.iterations_without_digests",
	 "iterations that no mark or range said to begin, at whose ends nothing was digested"},
	{"capture.undigested_collectives",
	 "collectives in launches of CUDA graphs, of which nothing was digested"},
	{"capture.late_digests", "digests and contents that came when their operation was written"},
	{"capture.contents_unwritten", "contents that found no room in the session folder"},
	{"capture.contents_absent", "contents that could not be read from the session folder"},
	{"capture.contents_damaged", "contents that are not what they are called"},
	{"capture.contents_too_large", "contents of 1 GiB and more"},
};

/* What a JSON string says. */
static void put_why(const char *value, struct text *out)
{
	size_t n = value ? strlen(value) : 0;

	if (n <= 2)
		return;
	text_str(out, ": ");
	text_harmless(out, value + 1, n - 2, 200);
}

void fmt_losses(const struct fmt_names *names, const char *before, struct text *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		const char *value = fmt_fact_value(names, FMT_WHOLE_TRACE, losses[i].key);
		uint64_t count = value ? strtoull(value, NULL, 10) : 0;

		if (count == 0)
			continue;
		text_str(out, before);
		text_u64(out, count);
		text_printf(out, " %s", losses[i].what);
		if (losses[i].why)
			put_why(fmt_fact_value(names, FMT_WHOLE_TRACE, losses[i].why), out);
		text_char(out, '\n');
	}
}
