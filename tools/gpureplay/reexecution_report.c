/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpureplay/reexecution.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

uint32_t reexecution_rank(const struct reexecution *job)
{
	return fmt_trace_rank(job->recorded, (uint32_t)job->rank)->number;
}

struct sum {
	uint64_t operations, digests, alone, of_host, differing, unordered;
};

static struct sum sum_of(const struct fmt_cause *c)
{
	struct sum s = {0};

	for (uint32_t i = 0; i < c->n_ranks; i++) {
		s.operations += c->ranks[i].operations;
		s.digests += c->ranks[i].digests;
		s.alone += c->ranks[i].alone;
		s.of_host += c->ranks[i].of_host;
		s.differing += c->ranks[i].differing;
		s.unordered += c->ranks[i].unordered;
	}
	return s;
}

/* Prints which part of the run was executed. */
static void put_range(const struct reexecution *job, struct text *out)
{
	if (job->range.first == FMT_BEFORE && job->range.last == FMT_AFTER)
		return;
	text_str(out, "Executed: from ");
	if (job->range.first == FMT_BEFORE)
		text_str(out, "the beginning");
	else
		text_printf(out, "iteration %" PRId64, job->range.first);
	if (job->range.last == FMT_AFTER)
		text_str(out, " to the end\n");
	else
		text_printf(out, " to iteration %" PRId64 "\n", job->range.last);
}

/* Prints the data that a rank that ran alone received from the recording. */
static void put_alone(const struct reexecution *job, const struct rex_counts *n, struct text *out)
{
	if (job->rank < 0)
		return;
	text_printf(out,
		    "Rank %" PRIu32 " ran alone: %" PRIu64
		    " collectives and receives were not executed; the %" PRIu64
		    " bytes that they received were copied from the recording.\n",
		    reexecution_rank(job), n->delivered, n->delivered_bytes);
	if (n->inputs > 0)
		text_printf(out,
			    "Of %" PRIu64 " buffers that it sent, %" PRIu64
			    " differ from the recorded ones.\n",
			    n->inputs, n->other_inputs);
}

static void put_cut_off(const struct reexecution *job, struct text *out)
{
	if (!job->is_cut_off)
		return;
	text_str(out, "The recording is incomplete; it was executed up to its end.");
	if (job->left_out > 0)
		text_printf(out,
			    " Its last %" PRIu64
			    " calls were not executed: they depend on calls of other processes or "
			    "on contents that were not recorded.",
			    job->left_out);
	text_char(out, '\n');
}

static void put_unknown(const struct rex_counts *n, struct text *out)
{
	if (n->seeded > 0)
		text_printf(out,
			    "%" PRIu64 " copies from the host had contents that are not recorded "
			    "(record with --payloads); operations that depend on them cannot be "
			    "compared.\n",
			    n->seeded);
	if (n->moved_regions > 0)
		text_printf(out,
			    "%" PRIu64 " of %" PRIu64
			    " regions of memory are at other addresses than recorded. Addresses in "
			    "kernel parameters were rewritten, those in memory were not (%" PRIu64
			    " in contents copied from the recording).\n",
			    n->moved_regions, n->regions, n->old_addresses);
	if (n->missing_bytes > 0)
		text_printf(out,
			    "%" PRIu64
			    " bytes of memory that was live at the start are not recorded "
			    "(record with --payloads); operations that depend on them cannot be "
			    "compared.\n",
			    n->missing_bytes);
}

/* Prints the differences between the executions. */
static void put_repeated(const struct reexecution *job, struct text *out)
{
	size_t n = job->unordered.n;

	text_printf(out, "Executed %" PRId64 " times: ", job->repeat);
	if (n > 0)
		text_printf(out, "%zu operation%s unordered: same inputs, different outputs\n", n,
			    n == 1 ? " is" : "s are");
	else
		text_str(out, job->differing == 0 ? "no differences.\n"
						  : "no operation is unordered.\n");
	if (n > 0)
		fmt_unordered_text(&job->unordered, fmt_trace_names(job->replayed), out);
	if (job->differing == 0)
		return;
	text_printf(out, "Execution %" PRId64 " differs from the first one: ", job->differing);
	fmt_cause_text(&job->itself, out);
	text_char(out, '\n');
	fmt_cause_ranks_text(&job->itself, out);
}

static void put_text(const struct reexecution *job, const struct fmt_cause *c,
		     const struct rex_counts *n, struct text *out)
{
	struct sum s = sum_of(c);

	text_printf(out, "%s: %" PRIu64 " calls executed, %" PRIu64 " operations", job->path,
		    n->made, s.operations);
	text_printf(out, ", %" PRIu64 " digests compared\n", s.digests);
	put_range(job, out);
	put_alone(job, n, out);
	put_cut_off(job, out);
	if (c->kind == FMT_CAUSE_NONE && n->other_inputs > 0)
		text_printf(out, "First difference: %s\n", rex_share_get_note(job->share));
	else if (c->kind == FMT_CAUSE_NONE && s.unordered > 0)
		text_str(out, "No differences, except in outputs of unordered operations and in "
			      "operations that read them.\n");
	else if (c->kind == FMT_CAUSE_NONE)
		text_str(out, s.digests > 0 ? "No differences.\n"
					    : "The recording has no digests: record it with "
					      "--digest=launch.\n");
	else {
		text_str(out, "First difference: ");
		fmt_cause_text(c, out);
		text_char(out, '\n');
	}
	fmt_cause_ranks_text(c, out);
	if (job->repeat > 1)
		put_repeated(job, out);
	put_unknown(n, out);
	if (s.of_host > 0)
		text_printf(out,
			    "%" PRIu64
			    " digests of host memory were not compared: functions of the "
			    "host in graphs may write it.\n",
			    s.of_host);
	if (s.alone > 0)
		text_printf(out, "%" PRIu64 " digests exist in only one of the runs.\n", s.alone);
}

/* Adds a bound of the range; null: that of the recording. */
static void put_bound(struct fmt_json *j, const char *key, int64_t number)
{
	if (number < 0)
		fmt_json_verbatim(j, key, "null", 4);
	else
		fmt_json_i64(j, key, number);
}

static void put_json(const struct reexecution *job, const struct fmt_cause *c,
		     const struct rex_counts *n, struct text *out)
{
	struct fmt_json j = {.text = out, .broken = 1};

	fmt_json_open(&j, NULL, '{');
	fmt_json_bool(&j, "same", c->kind == FMT_CAUSE_NONE && n->other_inputs == 0);
	put_bound(&j, "first_iteration", job->range.first);
	put_bound(&j, "last_iteration", job->range.last);
	fmt_json_bool(&j, "cut_off", job->is_cut_off);
	fmt_json_u64(&j, "calls_left_out", job->left_out);
	fmt_json_u64(&j, "calls", n->made);
	fmt_json_u64(&j, "copies_with_unknown_contents", n->seeded);
	fmt_json_u64(&j, "unknown_bytes_at_begin", n->missing_bytes);
	fmt_json_u64(&j, "regions", n->regions);
	fmt_json_u64(&j, "regions_elsewhere", n->moved_regions);
	fmt_json_u64(&j, "addresses_not_rewritten", n->old_addresses);
	if (job->rank >= 0) {
		fmt_json_open(&j, "alone", '{');
		fmt_json_u64(&j, "rank", reexecution_rank(job));
		fmt_json_u64(&j, "delivered", n->delivered);
		fmt_json_u64(&j, "delivered_bytes", n->delivered_bytes);
		fmt_json_u64(&j, "sent_buffers_compared", n->inputs);
		fmt_json_u64(&j, "sent_buffers_differing", n->other_inputs);
		if (n->other_inputs > 0)
			fmt_json_str(&j, "first", rex_share_get_note(job->share));
		fmt_json_close(&j, '}');
	}
	fmt_cause_json(c, &j);
	if (job->repeat > 1) {
		fmt_json_open(&j, "repeated", '{');
		fmt_json_i64(&j, "executions", job->repeat);
		fmt_json_bool(&j, "same", job->unordered.n == 0 && job->differing == 0);
		fmt_unordered_json(&job->unordered, fmt_trace_names(job->replayed), &j);
		if (job->differing > 0) {
			fmt_json_i64(&j, "differing_execution", job->differing);
			fmt_cause_json(&job->itself, &j);
		}
		fmt_json_close(&j, '}');
	}
	fmt_json_close(&j, '}');
}

int reexecution_report(struct reexecution *job)
{
	scoped(fmt_cause_done) struct fmt_cause cause = {0};
	scoped(text_done) struct text out = {0};
	struct fmt_error err = {0};
	struct fmt_cause_scope scope = FMT_CAUSE_ALL(false);
	int r;

	scope.first = job->range.first;
	scope.last = job->range.last;
	scope.rank = job->rank;
	scope.no_nccl = job->rank >= 0;
	scope.no_host = true;
	scope.is_part = job->range.first != FMT_BEFORE;
	scope.may_end_earlier = job->is_cut_off;
	scope.known = &job->unordered;
	r = fmt_cause_find(job->recorded, job->replayed, &scope, &cause, &err);

	if (r < 0)
		return cli_fail(r, &err, "compare", job->path, NULL);
	if (job->args->values[OPT_JSON])
		put_json(job, &cause, &job->counts, &out);
	else
		put_text(job, &cause, &job->counts, &out);
	if (out.error || fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return cli_fail(out.error ? out.error : -EIO, NULL, "report on", job->path, NULL);
	return cause.kind == FMT_CAUSE_NONE && job->counts.other_inputs == 0 ? CLI_OK : CLI_FAILED;
}
