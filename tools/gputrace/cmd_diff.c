/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/json.h"
#include "formats/report/compare.h"
#include "formats/report/grid.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/sink.h"
#include "tools/trace_arg.h"

#include <inttypes.h>

enum { OPT_OPERATIONS, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_OPERATIONS] = {"operations", 0, NULL, "what GPUs did alone, not what threads called"},
	[OPT_JSON] = {"json", 0, NULL, "the same report for programs"},
	{0},
};

static void put_iteration(int64_t number, struct text *out)
{
	if (number == FMT_BEFORE || number == FMT_AFTER)
		text_str(out,
			 number == FMT_BEFORE ? "before the iterations" : "after the iterations");
	else
		text_printf(out, "iteration %" PRId64, number);
}

static void put_text(const struct fmt_difference *d, const char *const *paths, bool same_id,
		     struct text *out)
{
	if (!d->first.len) {
		text_printf(out, "%s and %s %s\n", paths[0], paths[1],
			    same_id ? "are the same"
				    : "do the same in the same order; they may differ in times");
		return;
	}
	text_printf(out, "%s and %s part", paths[0], paths[1]);
	if (d->rank >= 0)
		text_printf(out, " at GPU %" PRId64, d->rank);
	if (d->lane[0]) {
		text_str(out, ", ");
		put_iteration(d->iteration, out);
		text_str(out, ", ");
		text_harmless(out, d->lane, strlen(d->lane), sizeof(d->lane));
		text_printf(out, ", number %" PRIu64, d->event);
	}
	text_str(out, ": ");
	text_bytes(out, d->first.data, d->first.len);
	text_str(out, " in the one, ");
	text_bytes(out, d->second.data, d->second.len);
	text_str(out, " in the other\n");
}

static void put_json(const struct fmt_difference *d, bool same_id, struct text *out)
{
	struct fmt_json j = {.text = out, .broken = 1};

	fmt_json_open(&j, NULL, '{');
	fmt_json_bool(&j, "same_id", same_id);
	fmt_json_bool(&j, "same", !d->first.len);
	if (d->first.len) {
		fmt_json_open(&j, "difference", '{');
		if (d->rank >= 0)
			fmt_json_i64(&j, "gpu", d->rank);
		if (d->lane[0]) {
			fmt_json_i64(&j, "iteration", d->iteration);
			fmt_json_str(&j, "lane", d->lane);
			fmt_json_u64(&j, "number", d->event);
		}
		fmt_json_bytes(&j, "first", d->first.data, d->first.len);
		fmt_json_bytes(&j, "second", d->second.data, d->second.len);
		fmt_json_close(&j, '}');
	}
	fmt_json_close(&j, '}');
}

static int run(const struct cli_args *args)
{
	scoped(fmt_trace_closep) struct fmt_trace *a = NULL;
	scoped(fmt_trace_closep) struct fmt_trace *b = NULL;
	scoped(fmt_difference_done) struct fmt_difference d = {.rank = -1};
	scoped(sink_done) struct sink sink = {0};
	scoped(text_done) struct text out = {0};
	const char *const paths[] = {args->operands[0], args->operands[1]};
	struct fmt_error err = {0};
	bool same_id;
	int r;

	r = trace_arg_open(paths[0], &a);
	if (r == CLI_OK)
		r = trace_arg_open(paths[1], &b);
	if (r != CLI_OK)
		return r;
	same_id = *fmt_trace_id(a) && !strcmp(fmt_trace_id(a), fmt_trace_id(b));
	r = same_id ? 0 : fmt_compare(a, b, !args->values[OPT_OPERATIONS], &d, &err);
	if (r < 0)
		return cli_fail(r, &err, "compare", err.file[0] ? err.file : paths[0], NULL);
	sink_open(&sink, NULL, &out);
	if (args->values[OPT_JSON])
		put_json(&d, same_id, &out);
	else
		put_text(&d, paths, same_id, &out);
	if (sink_commit(&sink, &out) < 0)
		return cli_fail(out.error, NULL, "write", "the output", NULL);
	return r ? CLI_FAILED : CLI_OK;
}

const struct cli_command cmd_diff = {
	.name = "diff",
	.operands = "TRACE TRACE",
	.min_operands = 2,
	.max_operands = 2,
	.what = "Find the first place where two traces part",
	.options = options,
	.notes =
		"Compared are the calls and operations of each thread and stream, in their order, "
		"and "
		"the\nsizes of copies and collectives, and the digests of their buffers where both "
		"hold them;\nnot their times. Calls of a program with several threads may hang on "
		"chance: --operations\nleaves them out. Exit status 1 where they part.\n",
	.run = run,
};
