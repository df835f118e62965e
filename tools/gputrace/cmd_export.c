/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/scope.h"
#include "formats/render/export/chrome.h"
#include "formats/render/export/svg.h"
#include "tools/damage.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/export_tables.h"
#include "tools/gputrace/part_arg.h"
#include "tools/gputrace/sink.h"
#include "tools/output.h"
#include "tools/progress.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

enum { OPT_FORMAT, OPT_OUTPUT, OPT_ITERATION, OPT_GPU };

static const struct cli_option options[] = {
	[OPT_FORMAT] = {"format", 'f', "chrome|svg|tsv", "output format (default: chrome)"},
	[OPT_OUTPUT] = {"output", 'o', "PATH", "output (default: standard output)"},
	[OPT_ITERATION] = {"iteration", 0, "N", "iteration N only"},
	[OPT_GPU] = {"gpu", 0, "N", "GPU N only (N is the number of its rank)"},
	{0},
};

/* An export. */
struct job {
	const struct cli_args *args;
	struct fmt_trace *trace;
	struct fmt_part part;
	const char *output;
	const char *unit; /* unit of the parts skipped because of damage: "slice", "file" */
	uint64_t left_out;
	struct damage damage;
};

/* ---- one file */

typedef int (*renderer)(struct fmt_trace *t, const struct fmt_part *part, struct text *out,
			struct fmt_error *err);

static int render_merged(struct fmt_trace *t, const struct fmt_part *part, struct text *out,
			 struct fmt_error *err)
{
	return fmt_chrome(t, FMT_CHROME_MERGED, part, out, err);
}

static int render_rank(struct fmt_trace *t, const struct fmt_part *part, struct text *out,
		       struct fmt_error *err)
{
	return fmt_chrome(t, FMT_CHROME_RANK, part, out, err);
}

static int render_svg(struct fmt_trace *t, const struct fmt_part *part, struct text *out,
		      struct fmt_error *err)
{
	return fmt_svg(t, part, true, out, err);
}

static int write_file(const struct job *job, const struct fmt_part *part, renderer render,
		      const char *path)
{
	scoped(sink_done) struct sink sink = {0};
	scoped(text_done) struct text text = {0};
	struct fmt_error err = {0};
	int r = sink_open(&sink, path, &text);

	if (r < 0)
		return output_fail(r, path, 0);
	r = render(job->trace, part, &text, &err);
	if (r < 0 && !text.error)
		return cli_fail(r, &err, "export", job->args->operands[0], NULL);
	r = sink_commit(&sink, &text);
	return r < 0 ? output_fail(r, path ? path : "the output", 0) : CLI_OK;
}

/* ---- a folder */

static int write_ranks(struct job *job, const char *folder)
{
	for (uint32_t i = 0; i < fmt_trace_n_ranks(job->trace); i++) {
		struct fmt_part part = job->part;
		scoped(free_ptr) char *path = NULL;
		int status;

		if (job->part.rank != FMT_ANY && job->part.rank != i)
			continue;
		part.rank = i;
		if (asprintf(&path, "%s/rank-%" PRIu32 ".json", folder,
			     fmt_trace_rank(job->trace, i)->number) < 0)
			return output_fail(-ENOMEM, job->output, 0);
		status = write_file(job, &part, render_rank, path);
		if (status != CLI_OK)
			return status;
	}
	return CLI_OK;
}

static int write_folder(struct job *job, int (*write)(struct job *job, const char *folder))
{
	scoped(output_done) struct output target;
	int status, r = output_begin(&target, job->output, 0);

	if (r == 0 && mkdir(target.trace, 0777) < 0)
		r = -errno;
	if (r < 0)
		return output_fail(r, job->output, 0);
	status = write(job, target.trace);
	if (status != CLI_OK)
		return status;
	r = output_commit(&target);
	return r < 0 ? output_fail(r, job->output, 0) : CLI_OK;
}

/* ---- formats */

static bool names_a_file(const char *output)
{
	static const char *const ends[] = {".json", ".json.gz"};

	for (size_t i = 0; output && i < ARRAY_SIZE(ends); i++) {
		size_t n = strlen(output), m = strlen(ends[i]);

		if (n >= m && !strcmp(output + n - m, ends[i]))
			return true;
	}
	return !output || !strcmp(output, "-") || sink_is_stream(output);
}

static int export_chrome(struct job *job)
{
	return names_a_file(job->output) ? write_file(job, &job->part, render_merged, job->output)
					 : write_folder(job, write_ranks);
}

static int export_svg(struct job *job)
{
	return write_file(job, &job->part, render_svg, job->output);
}

static int write_tables(struct job *job, const char *folder)
{
	struct fmt_error err = {0};
	char file[PATH_MAX];
	int r = export_tables(job->trace, &job->part, folder, &job->damage, file, sizeof(file),
			      &err);

	job->unit = "file";
	if (r == -EINVAL) {
		cli_error("--format=tsv: --gpu requires --iteration");
		return CLI_USAGE;
	}
	if (r == -ECANCELED)
		return CLI_MACHINE; /* and the signal follows */
	if (r < 0 && err.what[0])
		return cli_fail(r, &err, "export", job->args->operands[0], NULL);
	return r < 0 ? output_fail(r, file, 0) : CLI_OK;
}

static int export_tsv(struct job *job)
{
	if (names_a_file(job->output)) {
		cli_error("--format=tsv: missing -o FOLDER");
		return CLI_USAGE;
	}
	return write_folder(job, write_tables);
}

/* By the values of --format. */
static int (*const exports[])(struct job *job) = {export_chrome, export_svg, export_tsv};

/* Reports damaged parts of the trace that the output omits. */
static int print_damage(struct job *job)
{
	const char *path = job->args->operands[0];
	bool all = job->part.rank == FMT_ANY;

	if (job->left_out == 0 && !(all && fmt_trace_check_complete(job->trace, NULL) < 0))
		return CLI_OK;
	if (job->damage.n == 0)
		damage_add_trace(&job->damage, job->trace);
	if (job->left_out == 0)
		return damage_print(&job->damage, path, "only readable parts are exported");
	return damage_print(&job->damage, path, "%" PRIu64 " %s%s left out", job->left_out,
			    job->unit, job->left_out == 1 ? " is" : "s are");
}

static int run(const struct cli_args *args)
{
	int format = cli_choice(args, options, OPT_FORMAT, 0), status;
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	struct progress bar;
	struct job job = {.args = args, .output = args->values[OPT_OUTPUT], .unit = "slice"};

	if (format < 0)
		return CLI_USAGE;
	status = part_arg_open(args, &cmd_export, OPT_ITERATION, OPT_GPU, &trace, &job.part);
	job.trace = trace;
	progress_begin(&bar);
	job.part.progress = progress_reading;
	job.part.context = &bar;
	job.part.left_out = &job.left_out;
	if (status == CLI_OK)
		status = exports[format](&job);
	progress_end(&bar);
	output_raise();
	return status == CLI_OK ? print_damage(&job) : status;
}

const struct cli_command cmd_export = {
	.name = "export",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Convert a trace to a format of other programs",
	.options = options,
	.notes = "chrome is the format of ui.perfetto.dev and chrome://tracing. A file\n"
		 "(FILE.json, FILE.json.gz) or standard output gets one timeline of all GPUs;\n"
		 "any other PATH becomes a folder with a rank-N.json for each GPU. Importing\n"
		 "either gives the same trace again. svg is a picture, tsv a folder with the\n"
		 "tables of a mount. Damaged slices are left out and reported on standard error;\n"
		 "the exit status is then 1.\n",
	.run = run,
};
