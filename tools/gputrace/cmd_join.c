/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "base/text.h"
#include "formats/render/grid.h"
#include "formats/trace/json.h"
#include "tools/gputrace/cmd.h"
#include "tools/joining.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum { OPT_OUTPUT, OPT_FORCE, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', "OUT", "trace directory to create (required)"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace OUT if it is a trace"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	{0},
};

static void report_json(const char *output, int n, const struct fmt_join_result *r)
{
	scoped(text_done) struct text out = {0};
	struct fmt_json j = {.text = &out, .broken = 1};

	fmt_json_open(&j, NULL, '{');
	fmt_json_str(&j, "trace", output);
	fmt_json_u64(&j, "ranks", r->n_ranks);
	fmt_json_u64(&j, "parts", (uint64_t)n);
	fmt_json_u64(&j, "clocks", r->n_clocks);
	fmt_json_u64(&j, "aligned", r->n_aligned);
	fmt_json_u64(&j, "collectives", r->error.moments);
	fmt_json_i64(&j, "p50_ns", r->error.p50_ns);
	fmt_json_i64(&j, "p95_ns", r->error.p95_ns);
	fmt_json_i64(&j, "max_ns", r->error.max_ns);
	fmt_json_u64(&j, "out_of_order", r->out_of_order);
	fmt_json_close(&j, '}');
	printf("%.*s\n", (int)out.len, out.data);
}

static void report(const char *output, int n, const struct fmt_join_result *r)
{
	scoped(text_done) struct text out = {0};

	text_printf(&out, "%s: ", output);
	fmt_text_counted(&out, r->n_ranks, "rank", "ranks");
	text_str(&out, " of ");
	fmt_text_counted(&out, (uint64_t)n, "part", "parts");
	text_char(&out, '\n');
	if (r->n_clocks > 1) {
		text_printf(&out, "  %u of %u clocks aligned by ", r->n_aligned + 1, r->n_clocks);
		fmt_text_counted(&out, r->error.moments, "collective, which ends",
				 "collectives, which end");
		text_printf(&out,
			    " within %.1f us at the median, %.1f us at 95 %%, %.1f us at most\n",
			    (double)r->error.p50_ns / 1e3, (double)r->error.p95_ns / 1e3,
			    (double)r->error.max_ns / 1e3);
	}
	printf("%.*s", (int)out.len, out.data ? out.data : "");
}

static int run(const struct cli_args *args)
{
	const char *output = args->values[OPT_OUTPUT];
	struct fmt_join_result result;
	struct fmt_join join;
	int status;

	if (!output || !*output) {
		cli_error("join: missing -o OUT");
		return CLI_USAGE;
	}
	join = (struct fmt_join){.paths = (const char *const *)args->operands,
				 .n_paths = (size_t)args->n_operands};
	status = joining_run(&join, output, args->values[OPT_FORCE] != NULL, &result);
	if (status != CLI_OK)
		return status;
	if (args->values[OPT_JSON])
		report_json(output, args->n_operands, &result);
	else
		report(output, args->n_operands, &result);
	return CLI_OK;
}

const struct cli_command cmd_join = {
	.name = "join",
	.operands = "PART...",
	.min_operands = 1,
	.max_operands = INT_MAX,
	.what = "Make one trace from the parts of a run",
	.options = options,
	.notes = "Each PART is a trace. The clocks of hosts are aligned by their common\n"
		 "collectives. The parts must be of one run: by a launcher's job, a communicator\n"
		 "or PyTorch's distributedInfo.\n",
	.run = run,
};
