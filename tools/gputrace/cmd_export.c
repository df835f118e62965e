/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/scope.h"
#include "formats/export/chrome.h"
#include "formats/export/svg.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/export_tables.h"
#include "tools/gputrace/part.h"
#include "tools/gputrace/sink.h"
#include "tools/place.h"
#include "tools/progress.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

enum { OPT_FORMAT, OPT_OUTPUT, OPT_ITERATION, OPT_GPU };

static const struct cli_option options[] = {
	[OPT_FORMAT] = {"format", 'f', "chrome|svg|tsv", "what to write (chrome)"},
	[OPT_OUTPUT] = {"output", 'o', "PATH", "where to (standard output)"},
	[OPT_ITERATION] = {"iteration", 0, "N", "iteration N only"},
	[OPT_GPU] = {"gpu", 0, "N", "GPU N only, by the number of its rank"},
	{0},
};

/* What is exported, and where to. */
struct job {
	const struct cli_args *args;
	struct fmt_trace *trace;
	struct fmt_part part;
	const char *output;
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
		return place_fail(r, path, 0);
	r = render(job->trace, part, &text, &err);
	if (r < 0 && !text.error)
		return cli_fail(r, &err, "export", job->args->operands[0], NULL);
	r = sink_commit(&sink, &text);
	return r < 0 ? place_fail(r, path ? path : "the output", 0) : CLI_OK;
}

/* ---- a folder */

static int write_ranks(const struct job *job, const char *folder)
{
	for (uint32_t i = 0; i < fmt_trace_n_ranks(job->trace); i++) {
		struct fmt_part part = {job->part.iteration, i, job->part.progress,
					job->part.context};
		scoped(free_ptr) char *path = NULL;
		int status;

		if (job->part.rank != FMT_ANY && job->part.rank != i)
			continue;
		if (asprintf(&path, "%s/rank-%" PRIu32 ".json", folder,
			     fmt_trace_rank(job->trace, i)->number) < 0)
			return place_fail(-ENOMEM, job->output, 0);
		status = write_file(job, &part, render_rank, path);
		if (status != CLI_OK)
			return status;
	}
	return CLI_OK;
}

static int write_folder(const struct job *job,
			int (*write)(const struct job *job, const char *folder))
{
	scoped(place_done) struct place place;
	int status, r = place_begin(&place, job->output, 0);

	if (r == 0 && mkdir(place.trace, 0777) < 0)
		r = -errno;
	if (r < 0)
		return place_fail(r, job->output, 0);
	status = write(job, place.trace);
	if (status != CLI_OK)
		return status;
	r = place_commit(&place);
	return r < 0 ? place_fail(r, job->output, 0) : CLI_OK;
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
	return !output || !strcmp(output, "-");
}

static int export_chrome(const struct job *job)
{
	return names_a_file(job->output) ? write_file(job, &job->part, render_merged, job->output)
					 : write_folder(job, write_ranks);
}

static int export_svg(const struct job *job)
{
	return write_file(job, &job->part, render_svg, job->output);
}

static int write_tables(const struct job *job, const char *folder)
{
	struct fmt_error err = {0};
	char file[PATH_MAX];
	int r = export_tables(job->trace, &job->part, folder, file, sizeof(file), &err);

	if (r == -EINVAL) {
		cli_error("--format=tsv wants --iteration where there is --gpu");
		return CLI_USAGE;
	}
	if (r == -ECANCELED)
		return CLI_MACHINE; /* and the signal follows */
	return r < 0 ? cli_fail(r, &err, "write", file, NULL) : CLI_OK;
}

static int export_tsv(const struct job *job)
{
	if (names_a_file(job->output)) {
		cli_error("--format=tsv wants -o FOLDER");
		return CLI_USAGE;
	}
	return write_folder(job, write_tables);
}

static const struct {
	const char *name;
	int (*run)(const struct job *job);
} exports[] = {
	{"chrome", export_chrome},
	{"svg", export_svg},
	{"tsv", export_tsv},
};

static int run(const struct cli_args *args)
{
	const char *format = args->values[OPT_FORMAT] ? args->values[OPT_FORMAT] : "chrome";
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	struct progress bar;
	struct job job = {.args = args, .output = args->values[OPT_OUTPUT]};

	for (size_t i = 0; i < ARRAY_SIZE(exports); i++) {
		int status;

		if (strcmp(format, exports[i].name) != 0)
			continue;
		status = part_open(args, &cmd_export, OPT_ITERATION, OPT_GPU, &trace, &job.part);
		job.trace = trace;
		progress_begin(&bar);
		job.part.progress = progress_reading;
		job.part.context = &bar;
		if (status == CLI_OK)
			status = exports[i].run(&job);
		progress_end(&bar);
		place_raise();
		return status;
	}
	cli_error("--format wants %s, not '%s'", options[OPT_FORMAT].value, format);
	return CLI_USAGE;
}

const struct cli_command cmd_export = {
	.name = "export",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Write a trace for other programs",
	.options = options,
	.notes = "chrome is what ui.perfetto.dev and chrome://tracing open. To a file (FILE.json,\n"
		 "FILE.json.gz) or standard output it is one timeline of all GPUs; to any other "
		 "PATH\n"
		 "it is a folder with a rank-N.json for each GPU. Importing either again gives "
		 "the same\n"
		 "trace. svg is a picture of it. tsv is a folder of the tables that a mount "
		 "shows.\n",
	.run = run,
};
