/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/recording_facts.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/run/gpucapture/calls/processes.h"
#include "formats/run/gpucapture/graphs/graphs.h"
#include "formats/run/repetition.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/json.h"

/* ---- single facts */

/* Facts of the whole trace, or of a rank. After an error, others are not put. */
struct facts {
	struct fmt_names *names;
	uint32_t rank; /* FMT_WHOLE_TRACE */
	int error;
};

static void put_fact(struct facts *f, const char *key, const char *json)
{
	if (!f->error)
		f->error = fmt_names_fact_json(f->names, f->rank, key, json, strlen(json));
}

/* Adds a long fact; omitted if empty. */
static void put_text(struct facts *f, const char *key, const struct text *json)
{
	if (!f->error && (json->error || json->len > 0))
		f->error = fmt_names_fact_text(f->names, f->rank, key, json);
}

static void put_number(struct facts *f, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	put_fact(f, key, text);
}

static void put_count(struct facts *f, const char *key, uint64_t v)
{
	if (v > 0)
		put_number(f, key, v);
}

static void put_reason(struct facts *f, const char *key, int error)
{
	char text[128];

	snprintf(text, sizeof(text), "\"%s\"", strerror(error));
	if (error != 0)
		put_fact(f, key, text);
}

/* ---- facts of a rank */

struct shown {
	const struct rec_ranks *ranks;
	const struct rec_process *process;
	uint32_t rank;
};

/* Memory is listed with its device; host memory with the first rank of the process. */
static bool is_shown(const struct rec_allocation *a, const void *context)
{
	const struct shown *s = context;

	return rec_rank_of_device(s->ranks, s->process, rec_memory_device(a)) == s->rank;
}

static void put_allocations(struct facts *f, struct rec_process *p, const struct rec_ranks *ranks)
{
	const struct shown shown = {ranks, p, f->rank};
	scoped(text_done) struct text json = {0};

	rec_memory_json(&p->memory, f->names, is_shown, &shown, &json);
	put_text(f, FMT_FACT_ALLOCATIONS, &json);
}

static void put_graphs(struct facts *f, const struct rec_process *p)
{
	scoped(text_done) struct text json = {0};

	rec_graphs_json(p, &json);
	put_text(f, FMT_FACT_GRAPHS, &json);
}

static void put_ending(struct facts *f, const struct rec_process *p)
{
	const char *signal = rec_signal_name(p->end.signal);
	const char *call = fmt_string(f->names, p->end.last_call, NULL);
	char text[128];

	if (p->end.how == REC_EXITED)
		return;
	if (p->end.how == REC_RUNNING) {
		put_fact(f, FMT_ENDING_KEY, "\"running\"");
		return;
	}
	snprintf(text, sizeof(text), "\"killed%s%s\"", signal ? " by " : "", signal ?: "");
	put_fact(f, FMT_ENDING_KEY, text);
	snprintf(text, sizeof(text), "\"%.100s\"", call);
	if (*call)
		put_fact(f, p->end.in_call ? FMT_IN_CALL_KEY : FMT_LAST_CALL_KEY, text);
}

static int put_rank(struct rec_process *const *processes, struct fmt_names *names, uint32_t index,
		    const struct rec_ranks *ranks)
{
	struct rec_process *p = processes[ranks->ranks[index].process];
	struct facts f = {names, index, 0};

	put_number(&f, "process", (uint64_t)p->pid);
	put_ending(&f, p);
	put_count(&f, FMT_FACT_PROCESS, rec_shared_process(ranks, index));
	put_number(&f, "process_calls_begun", p->counts.begun);
	put_number(&f, "process_calls", p->counts.calls);
	for (size_t i = 0; i < p->n_facts && !f.error; i++) {
		const char *key = fmt_string(names, p->facts[i].key, NULL);

		if (strcmp(key, "version.driver") == 0)
			key = "cuda_driver_version";
		if (strncmp(key, "device.", 7) != 0)
			f.error = fmt_names_fact(names, index, key, p->facts[i].value);
	}
	put_allocations(&f, p, ranks);
	put_graphs(&f, p);
	return f.error;
}

/* ---- facts of the whole trace */

int rec_origin_put(const struct fmt_origin *origin, struct rec_process *const *processes, size_t n,
		   struct fmt_names *names)
{
	struct fmt_origin o = *origin;
	bool is_virtual = false;

	for (size_t i = 0; i < n; i++)
		is_virtual |= processes[i]->is_virtual;
	if (is_virtual) {
		o.clock[0] = '\0';
		o.realtime_ns = 0;
	}
	return fmt_origin_put(names, &o);
}

int rec_repetition_put(struct fmt_names *names, const struct rec_iterations *iterations, uint32_t n)
{
	struct facts f = {names, FMT_WHOLE_TRACE, 0};
	uint32_t first = 0;

	while (first < n && iterations[first].method != REC_ITERATIONS_REPEAT)
		first++;
	if (first == n)
		return 0;
	put_fact(&f, FMT_ITERATIONS_KEY, "\"repetition\"");
	if (iterations[first].each > 1)
		put_number(&f, FMT_REPETITIONS_KEY, iterations[first].each);
	return f.error;
}

/* Returns the sum of a counter over the processes. */
static uint64_t sum_counter(struct rec_process *const *processes, size_t n, size_t offset)
{
	uint64_t all = 0, v;

	for (size_t i = 0; i < n; i++) {
		memcpy(&v, (const char *)&processes[i]->counts + offset, sizeof(v));
		all += v;
	}
	return all;
}

/* Adds counts of calls that began and of calls that were recorded. */
static void put_check(struct facts *f, struct rec_process *const *processes, size_t n,
		      const struct rec_window *window)
{
	const struct rec_unrecorded *unread = &window->unread;
	uint64_t begun = sum_counter(processes, n, offsetof(struct rec_counts, begun));
	uint64_t calls = sum_counter(processes, n, offsetof(struct rec_counts, calls));

	put_number(f, "capture.calls_begun", begun);
	put_count(f, "capture.calls_missing", begun > calls ? begun - calls : 0);
	put_count(f, "capture.calls_without_ring", unread->no_ring_calls);
	if (unread->no_ring_calls > 0)
		put_reason(f, "capture.no_ring", unread->no_ring_error);
	put_count(f, "capture.calls_of_forked_children", unread->forked_calls);
	put_count(f, "capture.processes_running", window->endings.running);
	put_count(f, "capture.processes_killed", window->endings.killed);
	put_reason(f, "capture.stopped", unread->stopped);
}

/* Returns the number of operations whose end the library had not seen when the process ended. */
static uint64_t unended_operations(const struct rec_process *p)
{
	const char *fact = rec_process_fact(p, "device_times"), *value;
	size_t len;

	return fact && fmt_json_member(fact, strlen(fact), "unended", &value, &len)
		       ? strtoull(value, NULL, 10)
		       : 0;
}

static void put_level(struct facts *f, const struct rec_window *window)
{
	static const char *const levels[] = {
		[CAP_DIGEST_COMM] = "\"comm\"",
		[CAP_DIGEST_STEP] = "\"step\"",
		[CAP_DIGEST_LAUNCH] = "\"launch\"",
	};

	if (window->digest_level < ARRAY_SIZE(levels) && levels[window->digest_level])
		put_fact(f, FMT_DIGEST_LEVEL_KEY, levels[window->digest_level]);
}

static void put_window(struct facts *f, const struct rec_window *window)
{
	char text[64];

	if (window->first < 0)
		return;
	snprintf(text, sizeof(text), "\"%lld-%lld\"", (long long)window->first,
		 (long long)window->last);
	put_fact(f, FMT_WINDOW_KEY, text);
}

static void put_times(struct facts *f, struct rec_process *const *processes, size_t n,
		      const struct rec_trace_counts *result, const struct rec_window *window)
{
	uint64_t unended = 0;
	char why[80];

	if (window->untimed) {
		put_fact(f, FMT_DEVICE_TIMES_KEY, "\"off\"");
		return;
	}
	for (size_t i = 0; i < n; i++)
		unended += unended_operations(processes[i]);
	snprintf(why, sizeof(why), "\"%llu still ran when their process ended\"",
		 (unsigned long long)unended);
	put_count(f, "capture.operations_without_times", result->without_times);
	if (unended > 0)
		put_fact(f, "capture.untimed", why);
}

/* Sums over the processes. */
static const struct {
	const char *key;
	size_t offset;
	int always;
} counts[] = {
	{"capture.calls", offsetof(struct rec_counts, calls), 1},
	{"capture.nested_calls", offsetof(struct rec_counts, nested), 1},
	{"capture.failed_calls", offsetof(struct rec_counts, failed), 0},
	{"capture.calls_without_description", offsetof(struct rec_counts, raw), 0},
	{"capture.lost_records", offsetof(struct rec_counts, lost_records), 0},
	{"capture.lost_bytes", offsetof(struct rec_counts, lost_bytes), 0},
	{"capture.damaged", offsetof(struct rec_counts, damaged), 0},
	{"capture.unended_calls", offsetof(struct rec_counts, unended), 0},
	{"capture.graph_changes", offsetof(struct rec_counts, graph_changes), 0},
	{"capture.launches_without_parameters", offsetof(struct rec_counts, without_parameters), 0},
	{"capture.keyframe_missing", offsetof(struct rec_counts, keyframe_missing), 0},
	{"capture.late_digests", offsetof(struct rec_counts, late_digests), 0},
	{"capture.collectives_lost", offsetof(struct rec_counts, lost_collectives), 0},
	{FMT_WITHIN_KEY, offsetof(struct rec_counts, graph_collectives), 0},
};

int rec_facts_put(struct rec_process *const *processes, size_t n, const struct rec_ranks *ranks,
		  const struct rec_trace_counts *result, const struct rec_window *window,
		  struct fmt_names *names)
{
	struct facts f = {names, FMT_WHOLE_TRACE, 0};
	uint64_t unknown = 0, unlisted = 0;

	put_fact(&f, "gputrace.recorder", "\"gpucapture\"");
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		uint64_t v = sum_counter(processes, n, counts[i].offset);

		if (v > 0 || counts[i].always)
			put_number(&f, counts[i].key, v);
	}
	for (size_t i = 0; i < n; i++) {
		unknown += rec_handles_unknown(processes[i]->handles);
		unlisted += processes[i]->memory.left_out;
	}
	put_count(&f, "capture.allocations_left_out", unlisted);
	put_check(&f, processes, n, window);
	put_count(&f, "capture.unknown_handles", unknown);
	put_level(&f, window);
	put_window(&f, window);
	put_times(&f, processes, n, result, window);
	put_count(&f, "capture.iterations_without_digests", result->undigested);
	put_count(&f, "capture.undigested_collectives", result->undigested_collectives);
	put_count(&f, "capture.unmatched_collectives", result->unmatched);
	for (uint32_t i = 0; i < ranks->n && !f.error; i++)
		f.error = put_rank(processes, names, i, ranks);
	return f.error ? f.error : fmt_memberships_put_missing(names, ranks->n);
}
