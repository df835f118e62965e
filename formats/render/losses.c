/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/losses.h"

#include "base/array.h"
#include "formats/render/grid.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/memberships.h"

#include <inttypes.h>

#define MOST_SHOWN 8 /* maximum number of processes in one line */

static const struct {
	const char *key;
	const char *one, *many; /* description, for a count of 1 and for other counts */
	const char *reason;	/* key of a fact with the reason, or a list; may be NULL */
	const char *ending;	/* of processes: the value of their ranks' FMT_ENDING_KEY */
} losses[] = {
	{FMT_MISSING_PARTS_KEY, "part of the run", "parts of the run", "missing_parts"},
	{FMT_MISSING_KEY, "rank of the largest communicator", "ranks of the largest communicator",
	 "missing_ranks"},
	{FMT_CUT_OFF_KEY, "incomplete recording", "incomplete recordings"},
	{"capture.processes_running", "process still running when the program ended",
	 "processes still running when the program ended", NULL, "running"},
	{"capture.processes_killed",
	 "process killed or aborted, so its unfinished calls have no end",
	 "processes killed or aborted, so their unfinished calls have no end", NULL, "killed"},
	{"capture.calls_missing", "call begun but not recorded", "calls begun but not recorded",
	 "capture.stopped"},
	{"capture.calls_without_ring", "call of a thread that got no ring buffer",
	 "calls of threads that got no ring buffer", "capture.no_ring"},
	{"capture.calls_of_forked_children",
	 "call of a forked child that used its parent's CUDA state",
	 "calls of forked children that used their parent's CUDA state"},
	{"capture.lost_records", "record lost because a ring buffer was full",
	 "records lost because a ring buffer was full", "capture.stopped"},
	{"capture.operations_without_times", "operation left out because it has no device times",
	 "operations left out because they have no device times", "capture.untimed"},
	{"capture.unended_calls", "call that had not returned when its thread ended",
	 "calls that had not returned when their thread ended"},
	{"capture.damaged", "damaged piece of a ring buffer", "damaged pieces of ring buffers"},
	{"capture.graph_changes", "change of an executable graph known only from its call",
	 "changes of executable graphs known only from their calls"},
	{"capture.launches_without_parameters",
	 "launch without its parameters (the driver describes them from CUDA 12.4 on)",
	 "launches without their parameters (the driver describes them from CUDA 12.4 on)"},
	{FMT_WITHIN_KEY, "collective without times of its own, in CUDA graph launches",
	 "collectives without times of their own, in CUDA graph launches"},
	{"capture.collectives_lost",
	 "collective of a CUDA graph not counted because its node was not found again",
	 "collectives of CUDA graphs not counted because their nodes were not found again"},
	{"capture.unknown_handles", "handle whose creation was not recorded",
	 "handles whose creation was not recorded"},
	{"capture.unmatched_collectives", "collective of an unknown communicator",
	 "collectives of unknown communicators"},
	{"capture.iterations_without_digests",
	 "iteration without digests at its end, because no marker or range begins it",
	 "iterations without digests at their ends, because no marker or range begins them"},
	{"capture.undigested_collectives", "collective without digests, in CUDA graph launches",
	 "collectives without digests, in CUDA graph launches"},
	{"capture.late_digests", "digest or content that arrived after its operation was written",
	 "digests or contents that arrived after their operations were written"},
	{"capture.contents_unwritten",
	 "content of a buffer or code image lost because the session folder was full",
	 "contents of buffers or code images lost because the session folder was full"},
	{"capture.contents_absent",
	 "content of a buffer or code image that could not be read from the session folder",
	 "contents of buffers or code images that could not be read from the session folder"},
	{"capture.contents_damaged",
	 "content of a buffer or code image that does not match its digest",
	 "contents of buffers or code images that do not match their digests"},
	{"capture.contents_too_large",
	 "content of a buffer or code image of 1 GiB or more, not kept",
	 "contents of buffers or code images of 1 GiB or more, not kept"},
};

/* Appends the contents of a JSON string or list, after a colon; nothing if `value` is NULL or
 * empty. */
static void put_reason(const char *value, struct text *out)
{
	size_t n = value ? strlen(value) : 0;

	if (n <= 2)
		return;
	text_str(out, ": ");
	fmt_text_sanitised(out, value + 1, n - 2, 200);
}

static bool same_fact(const struct fmt_names *names, uint32_t a, uint32_t b, const char *key)
{
	const char *x = fmt_fact_value(names, a, key), *y = fmt_fact_value(names, b, key);

	return x == y || (x && y && strcmp(x, y) == 0);
}

static bool same_process(const struct fmt_names *names, uint32_t a, uint32_t b)
{
	return same_fact(names, a, b, "process") && same_fact(names, a, b, "host") &&
	       same_fact(names, a, b, FMT_ENDING_KEY);
}

/* Returns true if the rank shares its process with a rank of lower index. */
static bool is_listed(const struct fmt_names *names, uint32_t rank)
{
	if (!fmt_fact_value(names, rank, FMT_FACT_PROCESS))
		return false;
	for (uint32_t i = 0; i < rank; i++)
		if (same_process(names, i, rank))
			return true;
	return false;
}

/* `json` is a string; appends nothing if it is NULL. */
static void put_text(struct text *out, const char *before, const char *json)
{
	size_t n = json ? strlen(json) : 0;

	if (n <= 2)
		return;
	text_str(out, before);
	fmt_text_sanitised(out, json + 1, n - 2, 80);
}

/* Appends " (ranks 0, 1)": the rank and all that share its process. */
static void put_ranks(const struct fmt_trace *t, uint32_t first, struct text *out)
{
	const struct fmt_names *names = fmt_trace_names(t);
	bool shared = fmt_fact_value(names, first, FMT_FACT_PROCESS);

	text_printf(out, " (%s %" PRIu32, shared ? "ranks" : "rank",
		    fmt_trace_rank(t, first)->number);
	for (uint32_t i = first + 1; shared && i < fmt_trace_n_ranks(t); i++)
		if (same_process(names, first, i))
			text_printf(out, ", %" PRIu32, fmt_trace_rank(t, i)->number);
	text_char(out, ')');
}

/* Appends the processes that ended like this, `count` in total: ": pid 4711 (rank 0) killed by
 * SIGKILL in cuStreamSynchronize, pid 4714 (rank 3) killed after cuLaunchKernel". Processes that
 * used no GPU are not ranks, and only counted. */
static void put_processes(const struct fmt_trace *t, const char *ending, uint64_t count,
			  struct text *out)
{
	const struct fmt_names *names = fmt_trace_names(t);
	uint64_t n = 0;

	for (uint32_t i = 0; i < fmt_trace_n_ranks(t) && n < MOST_SHOWN; i++) {
		const char *value = fmt_fact_value(names, i, FMT_ENDING_KEY);
		const char *pid = fmt_fact_value(names, i, "process");

		if (!value || !pid || strncmp(value + 1, ending, strlen(ending)) != 0 ||
		    is_listed(names, i))
			continue;
		text_printf(out, "%spid %llu", n++ == 0 ? ": " : ", ", strtoull(pid, NULL, 10));
		put_ranks(t, i, out);
		if (strcmp(value, "\"running\"") != 0)
			put_text(out, " ", value);
		put_text(out, " in ", fmt_fact_value(names, i, FMT_IN_CALL_KEY));
		put_text(out, " after ", fmt_fact_value(names, i, FMT_LAST_CALL_KEY));
	}
	if (n > 0 && n < count)
		text_printf(out, " and %" PRIu64 " more", count - n);
}

void fmt_put_losses(const struct fmt_trace *t, const char *before, struct text *out)
{
	const struct fmt_names *names = fmt_trace_names(t);

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		const char *value = fmt_fact_value(names, FMT_WHOLE_TRACE, losses[i].key);
		uint64_t count = value ? strtoull(value, NULL, 10) : 0;

		if (count == 0)
			continue;
		text_printf(out, "%s%s", before,
			    fmt_plural(count, losses[i].one, losses[i].many).s);
		if (losses[i].reason)
			put_reason(fmt_fact_value(names, FMT_WHOLE_TRACE, losses[i].reason), out);
		if (losses[i].ending)
			put_processes(t, losses[i].ending, count, out);
		text_char(out, '\n');
	}
}
