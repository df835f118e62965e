/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/losses.h"

#include "base/array.h"
#include "formats/memberships.h"

static const struct {
	const char *key, *what;
} losses[] = {
	{FMT_MISSING_KEY, "ranks of the largest communicator (missing_ranks says which)"},
	{"capture.lost_records", "records that found no room in a ring"},
	{"capture.operations_without_times", "operations without device times, left out"},
	{"capture.unended_calls", "calls that had not returned when their thread ended"},
	{"capture.damaged", "stretches of rings that made no sense"},
	{"capture.unknown_handles", "handles that were used but never seen made"},
	{"capture.unmatched_collectives", "collectives of communicators that are not known"},
	{"capture.iterations_without_digests",
	 "iterations that no mark or range said to begin, at whose ends nothing was digested"},
	{"capture.contents_unwritten", "contents that found no room in the session folder"},
	{"capture.contents_absent", "contents that could not be read from the session folder"},
	{"capture.contents_damaged", "contents that are not what they are called"},
	{"capture.contents_too_large", "contents of 1 GiB and more"},
};

void fmt_losses(const struct fmt_names *names, const char *before, struct text *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		const char *value = fmt_fact_value(names, FMT_WHOLE_TRACE, losses[i].key);
		uint64_t count = value ? strtoull(value, NULL, 10) : 0;

		if (count == 0)
			continue;
		text_str(out, before);
		text_u64(out, count);
		text_printf(out, " %s\n", losses[i].what);
	}
}
