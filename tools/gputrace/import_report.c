/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputrace/import_report.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/trace/json.h"

#include <inttypes.h>

/* Sums over ranks. */
struct sums {
	uint64_t read, kept, names, rebuilt, skipped, no_duration, rounded, no_call, edges;
	uint64_t not_numbers, commas;
	uint64_t by_kind[FMT_KINDS];
};

static struct sums sum_ranks(const struct kineto_report *r)
{
	struct sums s = {0};

	for (size_t i = 0; i < r->n_ranks; i++) {
		const struct kineto_rank_report *k = &r->ranks[i];

		s.read += k->events;
		s.names += k->names;
		s.rebuilt += k->rebuilt;
		s.skipped += k->skipped;
		s.no_duration += k->no_duration;
		s.rounded += k->rounded;
		s.not_numbers += k->not_numbers;
		s.commas += k->commas;
		s.no_call += k->no_call;
		s.edges += k->edges;
		for (int kind = 0; kind < FMT_KINDS; kind++) {
			s.by_kind[kind] += k->kept[kind];
			s.kept += k->kept[kind];
		}
	}
	return s;
}

static const char *const plurals[FMT_KINDS] = {
	[FMT_CALL] = "calls",
	[FMT_KERNEL] = "kernels",
	[FMT_MEMCPY] = "memcpys",
	[FMT_MEMSET] = "memsets",
	[FMT_COLLECTIVE] = "collectives",
	[FMT_SYNC] = "syncs",
	[FMT_RANGE] = "ranges",
	[FMT_MARK] = "marks",
};

/* Appends the number of records of each kind, omitting kinds without records. */
static void put_kinds(struct text *t, const uint64_t *by_kind)
{
	const char *before = "";

	for (int kind = 0; kind < FMT_KINDS; kind++) {
		if (!by_kind[kind])
			continue;
		text_printf(
			t, "%s%s", before,
			fmt_plural(by_kind[kind], fmt_kind_name((enum fmt_kind)kind), plurals[kind])
				.s);
		before = ", ";
	}
}

static int same_count(const struct kineto_count *a, const struct kineto_count *b)
{
	return !strcmp(a->ph, b->ph) && !strcmp(a->cat, b->cat) && !strcmp(a->why, b->why);
}

/* Prints the events that were not kept, summed over ranks, by kind and reason. */
static void put_left_out(struct text *t, const struct kineto_report *r, const char *outcome)
{
	scoped(free_ptr) struct kineto_count *sums = NULL;
	size_t n = 0, cap = 0, at;

	for (size_t i = 0; i < r->n_ranks; i++)
		for (size_t k = 0; k < r->ranks[i].n_counts; k++) {
			const struct kineto_count *c = &r->ranks[i].counts[k];

			if (strcmp(c->outcome, outcome) != 0)
				continue;
			for (at = 0; at < n && !same_count(&sums[at], c); at++)
				;
			if (at < n)
				sums[at].events += c->events;
			else if (array_reserve(&sums, n + 1, &cap) == 0)
				sums[n++] = *c;
			else
				t->error = -ENOMEM;
		}
	for (const struct kineto_count *c = sums; c < sums + n; c++)
		text_printf(t, "  %-8s %10" PRIu64 "  ph %s%s%s: %s\n", outcome, c->events,
			    *c->ph ? c->ph : "?", *c->cat ? ", cat " : "", c->cat, c->why);
}

/* Appends a line if the count is not 0. */
static void put_note(struct text *t, uint64_t n, const char *one, const char *many)
{
	if (n)
		text_printf(t, "  %s\n", fmt_plural(n, one, many).s);
}

static void put_notes(struct text *t, const struct sums *s)
{
	put_note(t, s->no_call, "operation was launched before the recording",
		 "operations were launched before the recording");
	put_note(t, s->no_duration, "event has no duration: kept as 0",
		 "events have no duration: kept as 0");
	put_note(t, s->rounded, "time was rounded to the nanosecond",
		 "times were rounded to the nanosecond");
	put_note(t, s->not_numbers, "value is invalid in JSON (NaN, Infinity): kept as text",
		 "values are invalid in JSON (NaN, Infinity): kept as text");
	put_note(t, s->commas, "trailing comma was ignored", "trailing commas were ignored");
}

void import_report_text(struct text *t, const struct kineto_report *r, const char *output,
			const struct fmt_trace *trace)
{
	struct sums s = sum_ranks(r);
	uint64_t bytes = fmt_trace_bytes(trace);

	text_printf(t, "%s: %s", output, fmt_plural(r->n_ranks, "rank", "ranks").s);
	if (r->run_ranks > r->n_ranks)
		text_printf(t, " of a run of %" PRIu64, r->run_ranks);
	text_printf(t, ", %s in %s", fmt_plural(s.kept, "record", "records").s,
		    fmt_plural(bytes, "byte", "bytes").s);
	if (s.kept)
		text_printf(t, " (%.2f each)", (double)bytes / (double)s.kept);
	text_printf(t, "\n  read     %10" PRIu64 "  %s, %s of JSON\n", s.read,
		    s.read == 1 ? "event" : "events", fmt_plural(r->bytes, "byte", "bytes").s);
	text_printf(t, "  kept     %10" PRIu64 "  ", s.kept + s.names);
	put_kinds(t, s.by_kind);
	text_printf(
		t, "%s%s\n", s.kept ? ", " : "",
		fmt_plural(s.names, "name of a process or thread", "names of processes and threads")
			.s);
	put_left_out(t, r, "rebuilt");
	put_left_out(t, r, "skipped");
	put_notes(t, &s);
	text_printf(t, "  id %s\n", fmt_trace_id(trace));
}

static void json_kinds(struct fmt_json *j, const char *key, const uint64_t *by_kind)
{
	fmt_json_open(j, key, '{');
	for (int kind = 0; kind < FMT_KINDS; kind++)
		fmt_json_u64(j, fmt_kind_name((enum fmt_kind)kind), by_kind[kind]);
	fmt_json_close(j, '}');
}

static void json_rank(struct fmt_json *j, const struct kineto_rank_report *k)
{
	fmt_json_open(j, NULL, '{');
	fmt_json_i64(j, "rank", k->rank);
	fmt_json_str(j, "file", k->file);
	fmt_json_u64(j, "read", k->events);
	json_kinds(j, "kept", k->kept);
	fmt_json_u64(j, "names", k->names);
	fmt_json_u64(j, "rebuilt", k->rebuilt);
	fmt_json_u64(j, "skipped", k->skipped);
	fmt_json_u64(j, "no_duration", k->no_duration);
	fmt_json_u64(j, "rounded", k->rounded);
	fmt_json_u64(j, "not_numbers", k->not_numbers);
	fmt_json_u64(j, "commas", k->commas);
	fmt_json_u64(j, "launched_before", k->no_call);
	fmt_json_u64(j, "iterations", k->iterations);
	fmt_json_u64(j, "edges", k->edges);
	fmt_json_open(j, "events", '[');
	for (size_t i = 0; i < k->n_counts; i++) {
		const struct kineto_count *c = &k->counts[i];

		fmt_json_open(j, NULL, '{');
		fmt_json_str(j, "ph", c->ph);
		fmt_json_str(j, "cat", c->cat);
		fmt_json_str(j, "outcome", c->outcome);
		fmt_json_str(j, strcmp(c->outcome, "kept") == 0 ? "as" : "reason", c->why);
		fmt_json_u64(j, "count", c->events);
		fmt_json_close(j, '}');
	}
	fmt_json_close(j, ']');
	fmt_json_close(j, '}');
}

void import_report_json(struct text *t, const struct kineto_report *r, const char *output,
			const struct fmt_trace *trace)
{
	struct fmt_json j = {.text = t, .broken = 3};
	struct sums s = sum_ranks(r);

	fmt_json_open(&j, NULL, '{');
	fmt_json_str(&j, "output", output);
	fmt_json_str(&j, "id", fmt_trace_id(trace));
	fmt_json_u64(&j, "bytes", fmt_trace_bytes(trace));
	fmt_json_u64(&j, "json_bytes", r->bytes);
	fmt_json_u64(&j, "read", s.read);
	json_kinds(&j, "kept", s.by_kind);
	fmt_json_u64(&j, "names", s.names);
	fmt_json_u64(&j, "rebuilt", s.rebuilt);
	fmt_json_u64(&j, "skipped", s.skipped);
	fmt_json_u64(&j, "edges", s.edges);
	fmt_json_u64(&j, "run_ranks", r->run_ranks);
	fmt_json_open(&j, "ranks", '[');
	for (size_t i = 0; i < r->n_ranks; i++)
		json_rank(&j, &r->ranks[i]);
	fmt_json_close(&j, ']');
	fmt_json_close(&j, '}');
	text_char(t, '\n');
}
