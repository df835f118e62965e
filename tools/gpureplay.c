/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "replay/engine/emulate.h"
#include "tools/cli.h"
#include "tools/place.h"
#include "tools/progress.h"
#include "tools/trace_arg.h"

#include <string.h>
#include <unistd.h>

enum { OPT_EMULATE, OPT_JSON, OPT_OUTPUT, OPT_FORCE };

static const struct cli_option options[] = {
	[OPT_EMULATE] = {"emulate", 0, NULL, "compute when everything happens, without a GPU"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	[OPT_OUTPUT] = {"output", 'o', "OUT", "write the emulated run to OUT, as a trace"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace OUT if it is a trace"},
	{0},
};

static int print(struct text *t)
{
	return fwrite(t->data, 1, t->len, stdout) == t->len ? 0 : -EIO;
}

struct job {
	struct place place; /* if there is an output */
	struct progress bar;
};

static void on_progress(void *context, double share)
{
	struct job *job = context;

	if (place_signal()) {
		place_done(&job->place);
		place_raise();
	}
	progress_show(&job->bar, "emulating", (uint64_t)(share * 1000), 1000);
}

static int emulate(const struct cli_args *args, struct fmt_trace *trace,
		   struct replay_report *report)
{
	const char *out = args->values[OPT_OUTPUT];
	struct fmt_error err = {0};
	struct job job = {0};
	const struct replay_options how = {.progress = on_progress, .context = &job};
	bool force = args->values[OPT_FORCE] != NULL;
	int status = CLI_OK, r = out ? place_begin(&job.place, out, force) : 0;

	if (r < 0)
		return place_fail(r, out, 1);
	progress_begin(&job.bar);
	r = replay_emulate(trace, &how, out ? job.place.trace : NULL, report, &err);
	progress_end(&job.bar);
	if (r < 0)
		status = cli_fail(r, &err, "emulate", args->operands[0],
				  r == -EBADMSG ? "`gputrace verify` lists the damage" : NULL);
	else if (out && (r = place_commit(&job.place)) < 0)
		status = place_fail(r, out, 1);
	place_done(&job.place);
	place_raise();
	return status;
}

static int run(const struct cli_args *args)
{
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	scoped(replay_report_done) struct replay_report report = {0};
	scoped(text_done) struct text out = {.limit = 1 << 16, .flush = print};
	int r = trace_arg_open(args->operands[0], &trace);

	if (r != CLI_OK)
		return r;
	if (!args->values[OPT_EMULATE]) {
		cli_error("cannot re-execute %s: execution on a device is not part of this build; "
			  "gpureplay --emulate %s needs no GPU",
			  args->operands[0], args->operands[0]);
		return CLI_MACHINE;
	}
	r = emulate(args, trace, &report);
	if (r != CLI_OK)
		return r;
	if (args->values[OPT_JSON])
		replay_report_json(&report, &out);
	else
		replay_report_text(&report, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), &out);
	r = text_flush(&out);
	return r < 0 ? cli_fail(r, NULL, "report on", args->operands[0], NULL) : CLI_OK;
}

static const struct cli_command gpureplay = {
	.name = "gpureplay",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Emulate a recorded run and compare it with the recorded times",
	.options = options,
	.notes = "TRACE is a trace directory, a packed file, or the root of a mount.\n",
	.run = run,
};

int main(int argc, char **argv)
{
	return cli_main_one(&gpureplay, argc, argv);
}
