/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpureplay/gpureplay.h"

#include "formats/trace/store/trace.h"
#include "tools/trace_arg.h"

static const struct cli_option options[] = {
	[OPT_EMULATE] = {"emulate", 0, NULL, "compute when everything happens, without a GPU"},
	[OPT_WHAT_IF] = {"what-if", 0, "SPEC",
			 "predict the run with changes such as network=2x (repeatable)",
			 .list = '\n'},
	[OPT_SENSITIVITY] = {"sensitivity", 0, NULL,
			     "rank what the run would gain if parts of it were 1 % faster"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	[OPT_OUTPUT] = {"output", 'o', "OUT",
			"write the emulated (or predicted) run to OUT, as a trace"},
	[OPT_FORCE] = {"force", 'f', NULL,
		       "replace OUT if it is a trace; predict although collectives are unmatched"},
	{0},
};

static int run(const struct cli_args *args)
{
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	int r;

	if (args->values[OPT_EMULATE])
		return gpureplay_emulate(args);
	r = trace_arg_open(args->operands[0], &trace);
	if (r != CLI_OK)
		return r;
	cli_error("cannot re-execute %s: execution on a device is not part of this build; "
		  "gpureplay --emulate %s needs no GPU",
		  args->operands[0], args->operands[0]);
	return CLI_MACHINE;
}

static const struct cli_command gpureplay = {
	.name = "gpureplay",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Emulate a recorded run and compare it with the recorded times",
	.options = options,
	.notes = "TRACE is a trace directory, a packed file, or the root of a mount.\n"
		 "SPEC is [SCOPE:]KEY=VALUE[,...], as gpureplay(1) describes.\n",
	.run = run,
};

int main(int argc, char **argv)
{
	return cli_main_one(&gpureplay, argc, argv);
}
