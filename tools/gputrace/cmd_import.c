/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/run/kineto/kineto.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/import_report.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/raw_import.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

enum { OPT_OUTPUT, OPT_JSON, OPT_FORCE, OPT_LEVEL };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', "OUT", "trace directory to create (required)"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	[OPT_FORCE] = {"force", 'f', NULL, "replace OUT if it is a trace"},
	[OPT_LEVEL] = {"level", 0, "N", "zstd compression level, 1 to 22"},
	{0},
};

static int print_text(struct text *t)
{
	return fwrite(t->data, 1, t->len, stdout) == t->len ? 0 : -EIO;
}

static int print_report(const struct cli_args *args, const struct kineto_report *r)
{
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	scoped(text_done) struct text out = {.limit = 1 << 16, .flush = print_text};
	const char *output = args->values[OPT_OUTPUT];
	struct fmt_error err = {0};
	int e = fmt_trace_open(output, &trace, &err);

	if (e < 0)
		return cli_fail(e, &err, "read back", output, NULL);
	if (args->values[OPT_JSON])
		import_report_json(&out, r, output, trace);
	else
		import_report_text(&out, r, output, trace);
	e = text_flush(&out);
	return e < 0 ? cli_fail(e, NULL, "report on", output, NULL) : CLI_OK;
}

static const char *hint_of(int r, const struct fmt_error *err)
{
	if (r == -EISDIR)
		return "name the profiler files in it, one for each rank";
	if (r == -EBADMSG && strstr(err->what, "another run"))
		return "import each run on its own";
	if (r == -EBADMSG && strstr(err->what, "duplicate rank"))
		return "give one file for each rank";
	return NULL;
}

/* Imports into `target` and renames the trace to the output. */
static int import_files(const struct cli_args *args, struct output *target, int64_t level,
			struct kineto_report *r)
{
	struct progress bar;
	struct kineto_options o = {
		.files = (const char *const *)args->operands,
		.n_files = (size_t)args->n_operands,
		.output = target->trace,
		.level = (int)level,
		.progress = output_progress,
		.context = &bar,
	};
	struct fmt_error err = {0};
	int e;

	progress_begin(&bar);
	e = kineto_import(&o, r, &err);
	progress_end(&bar);
	if (e == 0 && output_signal())
		e = -ECANCELED;
	if (e == -ECANCELED)
		return CLI_FAILED;
	if (e < 0)
		return cli_fail(e, &err, "import", err.file[0] ? err.file : args->operands[0],
				hint_of(e, &err));
	e = output_commit(target);
	return e < 0 ? output_fail(e, target->path, !target->force) : CLI_OK;
}

/* Imports raw recordings of gpucapture. */
static int import_raw(const struct cli_args *args)
{
	const char *output = args->values[OPT_OUTPUT];
	scoped(recordings_done) struct recordings all = {0};
	scoped(rec_import_report_done) struct rec_import_report report = {0};
	scoped(text_done) struct text out = {0};
	int status, r = recordings_find(args->operands, (size_t)args->n_operands, &all);

	if (r < 0)
		return cli_fail(r, NULL, "read", args->operands[0], NULL);
	status = raw_import_complete(&all);
	if (status == CLI_OK)
		status = raw_import(&all, output, args->values[OPT_FORCE] != NULL, NULL, &report);
	output_raise();
	if (status != CLI_OK)
		return status;
	if (!report.has_calls) {
		cli_error("import: %s: no CUDA call was recorded", args->operands[0]);
		return CLI_INPUT;
	}
	raw_import_print_killed(&report, output);
	if (args->values[OPT_JSON])
		raw_import_json(&out, &report, output);
	else
		raw_import_text(&out, &report, output);
	printf("%.*s", (int)out.len, out.data);
	return CLI_OK;
}

static int run(const struct cli_args *args)
{
	const char *output = args->values[OPT_OUTPUT];
	struct kineto_report r = {0};
	struct output target;
	int64_t level;
	int status, e;

	if (!output || !*output) {
		cli_error("import: missing -o OUT");
		return CLI_USAGE;
	}
	if (recordings_exist_at(args->operands[0]))
		return import_raw(args);
	if (cli_number(args, &cmd_import, OPT_LEVEL, 1, 22, 0, &level) < 0)
		return CLI_USAGE;
	/* Keep freed memory for the next slice; the kernel would have to clear fresh memory. */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	e = output_begin(&target, output, args->values[OPT_FORCE] != NULL);
	if (e < 0)
		return output_fail(e, output, !args->values[OPT_FORCE]);
	status = import_files(args, &target, level, &r);
	output_done(&target);
	output_raise();
	if (status == CLI_OK)
		status = print_report(args, &r);
	kineto_report_done(&r);
	return status;
}

const struct cli_command cmd_import = {
	.name = "import",
	.operands = "FILE...",
	.min_operands = 1,
	.max_operands = INT_MAX,
	.what = "Make a trace from profiler files or raw recordings",
	.options = options,
	.notes = "Each FILE is Chrome trace JSON from the PyTorch profiler, plain, gzip or zstd;\n"
		 "- is standard input. Rank numbers come from distributedInfo, else from file\n"
		 "names (rank-3.json), else from the order of the arguments.\n"
		 "Or each FILE is a raw recording of gpucapture, or a folder OUT.raw of them: of\n"
		 "one host or of all hosts of a run. A recording whose gpucapture was killed is\n"
		 "completed from ring buffers in shared memory, if it was made on this machine.\n",
	.run = run,
};
