/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/render/report/report.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/info_sizes.h"
#include "tools/gputrace/part_arg.h"
#include "tools/gputrace/sink.h"
#include "tools/progress.h"

#include <unistd.h>

enum { OPT_JSON, OPT_ITERATION, OPT_GPU, OPT_TOP, OPT_SIZES };

static const struct cli_option options[] = {
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	[OPT_ITERATION] = {"iteration", 0, "N", "iteration N only"},
	[OPT_GPU] = {"gpu", 0, "N", "GPU N only (N is the number of its rank)"},
	[OPT_TOP] = {"top", 0, "N",
		     "number of kernels and collectives to list (default: 12; JSON: all)"},
	[OPT_SIZES] = {"sizes", 0, NULL, "print the size of each part of the trace instead"},
	{0},
};

static int make_report(const struct cli_args *args, struct fmt_trace *trace, struct fmt_part *part,
		       const struct fmt_report_style *style, struct text *out)
{
	scoped(fmt_report_freep) struct fmt_report *report = NULL;
	struct fmt_error err = {0};
	struct progress bar;
	int r;

	progress_begin(&bar);
	part->progress = progress_reading;
	part->context = &bar;
	r = fmt_report_new(trace, part, true, &report, &err);
	progress_end(&bar);
	if (r < 0)
		return cli_fail(r, &err, "read", args->operands[0], NULL);
	if (args->values[OPT_JSON])
		fmt_report_json(report, style, out);
	else
		fmt_report_text(report, style, out);
	return CLI_OK;
}

static int make_sizes(const struct cli_args *args, struct fmt_trace *trace,
		      const struct fmt_report_style *style, struct text *out)
{
	struct info_sizes sizes = {.trace = trace};
	struct fmt_error err = {0};
	int r = fmt_sizes(trace, sizes.rows, &err);

	if (r < 0)
		return cli_fail(r, &err, "read", args->operands[0], NULL);
	sizes.n_rows = (uint32_t)r;
	if (args->values[OPT_JSON])
		info_sizes_json(&sizes, out);
	else
		info_sizes_text(&sizes, style->colour, out);
	return CLI_OK;
}

static int run(const struct cli_args *args)
{
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	scoped(sink_done) struct sink sink = {0};
	scoped(text_done) struct text out = {0};
	struct fmt_report_style style = {0};
	uint64_t left_out = 0;
	struct fmt_part part;
	int64_t top;
	int r, status;

	if (cli_number(args, &cmd_info, OPT_TOP, 1, UINT32_MAX, 0, &top) < 0)
		return CLI_USAGE;
	status = part_arg_open(args, &cmd_info, OPT_ITERATION, OPT_GPU, &trace, &part);
	if (status != CLI_OK)
		return status;
	part.left_out = &left_out;
	sink_open(&sink, NULL, &out);
	style.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	style.top = (unsigned)top;
	status = args->values[OPT_SIZES] ? make_sizes(args, trace, &style, &out)
					 : make_report(args, trace, &part, &style, &out);
	if (status != CLI_OK)
		return status;
	r = sink_commit(&sink, &out);
	if (r < 0)
		return cli_fail(r, NULL, "write", "the report", NULL);
	return left_out > 0 || (part.rank == FMT_ANY && fmt_trace_check_complete(trace, NULL) < 0)
		       ? CLI_FAILED
		       : CLI_OK;
}

const struct cli_command cmd_info = {
	.name = "info",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Print the contents of a trace and where its time goes",
	.options = options,
	.notes = "Damaged parts are listed but not counted; the exit status is then 1.\n",
	.run = run,
};
