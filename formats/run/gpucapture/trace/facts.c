/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/facts.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "formats/run/gpucapture/calls/processes.h"
#include "formats/run/gpucapture/graphs/graphs.h"
#include "formats/run/iterations.h"
#include "formats/trace/facts.h"
#include "formats/trace/json.h"

static int put(struct fmt_names *names, uint32_t rank, const char *key, const char *json)
{
	return fmt_names_fact_json(names, rank, key, json, strlen(json));
}

int rec_fact_put(struct fmt_names *names, const char *key, const struct text *json)
{
	return json->error
		       ? json->error
		       : fmt_names_fact_json(names, FMT_WHOLE_TRACE, key, json->data, json->len);
}

static int put_number(struct fmt_names *names, uint32_t rank, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return put(names, rank, key, text);
}

/* Attributes of a device, by their numbers in the driver, as the PyTorch profiler calls them. */
static const struct {
	int number;
	const char *key;
} attributes[] = {
	{75, "computeMajor"},
	{76, "computeMinor"},
	{16, "numSms"},
	{10, "warpSize"},
	{1, "maxThreadsPerBlock"},
	{39, "maxThreadsPerMultiprocessor"},
	{12, "regsPerBlock"},
	{82, "regsPerMultiprocessor"},
	{8, "sharedMemPerBlock"},
	{97, "sharedMemPerBlockOptin"},
	{81, "sharedMemPerMultiprocessor"},
};

static const char *device_fact(const struct rec_process *p, int device, const char *what)
{
	char key[64];

	snprintf(key, sizeof(key), "device.%d.%s", device, what);
	return rec_fact(p, key);
}

/* The length of the JSON number at `text`; 0: not a number. */
static size_t number_length(const char *text)
{
	size_t sign = *text == '-', n = strspn(text + sign, "0123456789");

	return n == 0 || (n > 1 && text[sign] == '0') ? 0 : sign + n;
}

/* The value of an attribute in "1=1024 2=1024 ..."; NULL. */
static const char *attribute(const char *list, int number, size_t *len)
{
	char key[16];
	int n = snprintf(key, sizeof(key), "%d=", number);

	for (const char *at = list ? list + (*list == '"') : NULL; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (strncmp(at, key, (size_t)n) == 0) {
			*len = number_length(at + n);
			return at + n;
		}
	}
	return NULL;
}

#define PCI_DOMAIN 50
#define PCI_BUS 33
#define PCI_DEVICE 34

static long attribute_value(const char *list, int number)
{
	size_t len = 0;
	const char *value = attribute(list, number, &len);

	return value && len > 0 ? strtol(value, NULL, 10) : 0; /* zeros are not listed */
}

/* What tells the GPU from the others of its host, whatever number a process has for it. */
static void put_identity(const struct rec_process *p, int device, struct text *json)
{
	const char *list = device_fact(p, device, "attributes");
	const char *uuid = device_fact(p, device, "uuid");

	if (uuid)
		text_printf(json, ", \"uuid\": %s", uuid);
	if (attribute_value(list, PCI_BUS) > 0)
		text_printf(json, ", \"pci\": \"%08lx:%02lx:%02lx\"",
			    attribute_value(list, PCI_DOMAIN), attribute_value(list, PCI_BUS),
			    attribute_value(list, PCI_DEVICE));
}

static int put_device(struct fmt_names *names, uint32_t index, const struct rec_process *p,
		      int device)
{
	const char *name = device_fact(p, device, "name"), *memory, *list, *value;
	scoped(text_done) struct text json = {0};
	struct fmt_device made = {.ordinal = device};
	size_t len = name ? strlen(name) : 0;
	int r = 0;

	if (len < 2)
		return 0;
	text_printf(&json, "{\"id\": %d, \"name\": %s", device, name);
	memory = device_fact(p, device, "memory_bytes");
	if (memory)
		text_printf(&json, ", \"totalGlobalMem\": %s", memory);
	put_identity(p, device, &json);
	list = device_fact(p, device, "attributes");
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		size_t n = 0;

		value = attribute(list, attributes[i].number, &n);
		if (value && n > 0)
			text_printf(&json, ", \"%s\":%.*s", attributes[i].key, (int)n, value);
	}
	text_char(&json, '}');
	if (json.error)
		return json.error;
	r = fmt_names_string(names, name + 1, len - 2, &made.name);
	if (r == 0)
		r = fmt_names_string(names, json.data, json.len, &made.properties);
	return r < 0 ? r : fmt_names_device(names, index, &made);
}

static int put_devices(struct rec_process *const *processes, struct fmt_names *names,
		       uint32_t index, const struct rec_ranks *ranks)
{
	const struct rec_rank *rank = &ranks->ranks[index];
	int r = 0;

	for (uint32_t d = 0; d < ranks->n_devices && r == 0; d++)
		if (ranks->of_device[rank->process * (size_t)ranks->n_devices + d] == index)
			r = put_device(names, index, processes[rank->process], (int)d);
	return r;
}

int rec_devices_put(struct rec_process *const *processes, const struct rec_ranks *ranks,
		    struct fmt_names *names)
{
	int r = 0;

	for (uint32_t i = 0; i < ranks->n && r == 0; i++)
		r = put_devices(processes, names, i, ranks);
	return r;
}

static int put_graphs(struct fmt_names *names, uint32_t index, const struct rec_process *p)
{
	scoped(text_done) struct text json = {0};
	fmt_str value;
	int r;

	rec_graphs_json(p, &json);
	if (json.len == 0)
		return json.error;
	r = fmt_names_string(names, json.data, json.len, &value);
	return r < 0 ? r : fmt_names_fact(names, index, FMT_FACT_GRAPHS, value);
}

struct shown {
	const struct rec_ranks *ranks;
	const struct rec_process *process;
	uint32_t rank;
};

/* Memory is listed by its device; that of the host by the first rank of the process. */
static bool is_shown(const struct rec_allocation *a, const void *context)
{
	const struct shown *s = context;

	return rec_rank_of_device(s->ranks, s->process, rec_memory_device(a)) == s->rank;
}

static int put_allocations(struct fmt_names *names, uint32_t index, struct rec_process *p,
			   const struct rec_ranks *ranks)
{
	const struct shown shown = {ranks, p, index};
	scoped(text_done) struct text json = {0};
	fmt_str value;
	int r;

	rec_memory_json(&p->memory, names, is_shown, &shown, &json);
	if (json.len == 0 || json.error)
		return json.error;
	r = fmt_names_string(names, json.data, json.len, &value);
	return r < 0 ? r : fmt_names_fact(names, index, FMT_FACT_ALLOCATIONS, value);
}

static int put_ending(struct fmt_names *names, uint32_t index, const struct rec_process *p)
{
	const char *signal = rec_signal_name(p->end.signal);
	const char *call = fmt_string(names, p->end.last_call, NULL);
	char text[128];
	int r;

	if (p->end.how == REC_RUNNING)
		return put(names, index, FMT_ENDING_KEY, "\"running\"");
	snprintf(text, sizeof(text), "\"killed%s%s\"", signal ? " by " : "", signal ?: "");
	r = put(names, index, FMT_ENDING_KEY, text);
	snprintf(text, sizeof(text), "\"%.100s\"", call);
	if (r == 0 && *call)
		r = put(names, index, p->end.in_call ? FMT_IN_CALL_KEY : FMT_LAST_CALL_KEY, text);
	return r;
}

static int put_rank(struct rec_process *const *processes, struct fmt_names *names, uint32_t index,
		    const struct rec_ranks *ranks)
{
	struct rec_process *p = processes[ranks->ranks[index].process];
	uint32_t shared = rec_shared_process(ranks, index);
	int r = put_number(names, index, "process", (uint64_t)p->pid);

	if (r == 0 && p->end.how != REC_EXITED)
		r = put_ending(names, index, p);
	if (r == 0 && shared > 0)
		r = put_number(names, index, FMT_FACT_PROCESS, shared);
	if (r == 0)
		r = put_number(names, index, "process_calls_begun", p->counts.begun);
	if (r == 0)
		r = put_number(names, index, "process_calls", p->counts.calls);
	for (size_t i = 0; i < p->n_facts && r == 0; i++) {
		const char *key = fmt_string(names, p->facts[i].key, NULL);

		if (strcmp(key, "version.driver") == 0)
			key = "cuda_driver_version";
		if (strncmp(key, "device.", 7) != 0)
			r = fmt_names_fact(names, index, key, p->facts[i].value);
	}
	if (r == 0)
		r = put_allocations(names, index, p, ranks);
	return r < 0 ? r : put_graphs(names, index, p);
}

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

int rec_repetition_put(struct fmt_names *names, const struct rec_iterations_of *steps, uint32_t n)
{
	uint32_t first = 0;
	int r;

	while (first < n && steps[first].way != REC_ITERATIONS_REPEAT)
		first++;
	if (first == n)
		return 0;
	r = put(names, FMT_WHOLE_TRACE, FMT_ITERATIONS_KEY, "\"repetition\"");

	if (r == 0 && steps[first].each > 1)
		r = put_number(names, FMT_WHOLE_TRACE, FMT_REPETITIONS_KEY, steps[first].each);
	return r;
}

/* Sums over the processes of one of their counts. */
static uint64_t sum(struct rec_process *const *processes, size_t n, size_t offset)
{
	uint64_t all = 0, v;

	for (size_t i = 0; i < n; i++) {
		memcpy(&v, (const char *)&processes[i]->counts + offset, sizeof(v));
		all += v;
	}
	return all;
}

static int put_count(struct fmt_names *names, const char *key, uint64_t v)
{
	return v > 0 ? put_number(names, FMT_WHOLE_TRACE, key, v) : 0;
}

static int put_reason(struct fmt_names *names, const char *key, int error)
{
	scoped(text_done) struct text json = {0};

	if (error == 0)
		return 0;
	text_printf(&json, "\"%s\"", strerror(error));
	return rec_fact_put(names, key, &json);
}

/* Calls that came in, and calls that went out. */
static int put_check(struct rec_process *const *processes, size_t n,
		     const struct rec_window *window, struct fmt_names *names)
{
	const struct rec_unread *unread = &window->unread;
	uint64_t begun = sum(processes, n, offsetof(struct rec_counts, begun));
	uint64_t calls = sum(processes, n, offsetof(struct rec_counts, calls));
	int r = put_number(names, FMT_WHOLE_TRACE, "capture.calls_begun", begun);

	if (r == 0)
		r = put_count(names, "capture.calls_missing", begun > calls ? begun - calls : 0);
	if (r == 0)
		r = put_count(names, "capture.calls_without_ring", unread->no_ring_calls);
	if (r == 0 && unread->no_ring_calls > 0)
		r = put_reason(names, "capture.no_ring", unread->no_ring_error);
	if (r == 0)
		r = put_count(names, "capture.calls_of_forked_children", unread->forked_calls);
	if (r == 0)
		r = put_count(names, "capture.processes_running", window->endings.running);
	if (r == 0)
		r = put_count(names, "capture.processes_killed", window->endings.killed);
	return r < 0 ? r : put_reason(names, "capture.stopped", unread->stopped);
}

/* What the library waited for in vain when the process ended. */
static uint64_t unended_operations(const struct rec_process *p)
{
	const char *fact = rec_fact(p, "device_times"), *value;
	size_t len;

	return fact && fmt_json_member(fact, strlen(fact), "unended", &value, &len)
		       ? strtoull(value, NULL, 10)
		       : 0;
}

static int put_level(const struct rec_window *window, struct fmt_names *names)
{
	static const char *const levels[] = {
		[CAP_DIGEST_COMM] = "\"comm\"",
		[CAP_DIGEST_STEP] = "\"step\"",
		[CAP_DIGEST_LAUNCH] = "\"launch\"",
	};
	const char *level =
		window->digest_level < ARRAY_SIZE(levels) ? levels[window->digest_level] : NULL;

	return level ? put(names, FMT_WHOLE_TRACE, FMT_DIGEST_LEVEL_KEY, level) : 0;
}

static int put_times(struct rec_process *const *processes, size_t n,
		     const struct rec_result *result, const struct rec_window *window,
		     struct fmt_names *names)
{
	uint64_t unended = 0;
	char why[80];
	int r;

	if (window->untimed)
		return put(names, FMT_WHOLE_TRACE, FMT_DEVICE_TIMES_KEY, "\"off\"");
	for (size_t i = 0; i < n; i++)
		unended += unended_operations(processes[i]);
	snprintf(why, sizeof(why), "\"%llu still ran when their process ended\"",
		 (unsigned long long)unended);
	r = put_count(names, "capture.operations_without_times", result->without_times);
	return r == 0 && unended > 0 ? put(names, FMT_WHOLE_TRACE, "capture.untimed", why) : r;
}

int rec_facts_put(struct rec_process *const *processes, size_t n, const struct rec_ranks *ranks,
		  const struct rec_result *result, const struct rec_window *window,
		  struct fmt_names *names)
{
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
		{"capture.launches_without_parameters",
		 offsetof(struct rec_counts, without_parameters), 0},
		{"capture.keyframe_missing", offsetof(struct rec_counts, keyframe_missing), 0},
		{"capture.late_digests", offsetof(struct rec_counts, late_digests), 0},
		{"capture.collectives_lost", offsetof(struct rec_counts, lost_collectives), 0},
		{FMT_WITHIN_KEY, offsetof(struct rec_counts, graph_collectives), 0},
		{"capture.graphs_whole", offsetof(struct rec_counts, graphs_whole), 0},
	};
	uint64_t unknown = 0, unlisted = 0;
	int r = put(names, FMT_WHOLE_TRACE, "gputrace.recorder", "\"gpucapture\"");

	for (size_t i = 0; i < ARRAY_SIZE(counts) && r == 0; i++) {
		uint64_t v = sum(processes, n, counts[i].offset);

		if (v > 0 || counts[i].always)
			r = put_number(names, FMT_WHOLE_TRACE, counts[i].key, v);
	}
	for (size_t i = 0; i < n; i++) {
		unknown += rec_handles_unknown(processes[i]->handles);
		unlisted += processes[i]->memory.left_out;
	}
	if (r == 0)
		r = put_count(names, "capture.allocations_left_out", unlisted);
	if (r == 0)
		r = put_check(processes, n, window, names);
	if (r == 0)
		r = put_count(names, "capture.unknown_handles", unknown);
	if (r == 0)
		r = put_level(window, names);
	if (r == 0)
		r = put_times(processes, n, result, window, names);
	if (r == 0)
		r = put_count(names, "capture.iterations_without_digests", result->undigested);
	if (r == 0)
		r = put_count(names, "capture.undigested_collectives",
			      result->undigested_collectives);
	if (r == 0)
		r = put_count(names, "capture.unmatched_collectives", result->unmatched);
	for (uint32_t i = 0; i < ranks->n && r == 0; i++)
		r = put_rank(processes, names, i, ranks);
	return r < 0 ? r : fmt_memberships_missing(names, ranks->n);
}
