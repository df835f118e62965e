/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpureplay/gpureplay.h"

#include "base/scope.h"
#include "replay/engine/emulate.h"
#include "replay/engine/sensitivity.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/trace_arg.h"

#include <limits.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

static int print_text(struct text *t)
{
	return fwrite(t->data, 1, t->len, stdout) == t->len ? 0 : -EIO;
}

/* Maximum number of changed runs in one command. */
#define MOST_WHAT_IFS 32

struct what_ifs {
	struct what_if *items[MOST_WHAT_IFS];
	uint32_t n;
};

static void what_ifs_done(struct what_ifs *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		what_if_free(w->items[i]);
}

static int parse_one(struct what_ifs *w, const char *spec)
{
	struct what_if_error err;
	int r;

	if (w->n == MOST_WHAT_IFS) {
		cli_error("--what-if: more than %d changed runs", MOST_WHAT_IFS);
		return CLI_USAGE;
	}
	r = what_if_parse(spec, &w->items[w->n], &err);
	if (r == 0)
		w->n++;
	else if (r == -EINVAL)
		cli_error("--what-if '%s': %s", spec, err.why);
	return r == 0 ? CLI_OK : r == -EINVAL ? CLI_USAGE : cli_fail(r, NULL, "parse", spec, NULL);
}

/* Parses the specs of `list`, one per line. */
static int parse_what_ifs(const char *list, struct what_ifs *w)
{
	scoped(free_ptr) char *copy = strdup(list);
	int r = copy ? CLI_OK : cli_fail(-ENOMEM, NULL, "parse", list, NULL);

	for (char *rest = copy, *spec; r == CLI_OK && (spec = strsep(&rest, "\n"));)
		r = parse_one(w, spec);
	return r;
}

struct job {
	struct output target; /* if there is an output */
	struct progress bar;
};

static void on_progress(void *context, double share)
{
	struct job *job = context;

	if (output_signal()) {
		output_done(&job->target);
		output_raise();
	}
	progress_show(&job->bar, "emulating", (uint64_t)(share * 1000), 1000);
}

/* Prints why the emulation failed; the exit status. */
static int report_failure(const struct cli_args *args, int r, const struct fmt_error *err)
{
	if (r == -EINVAL) {
		cli_error("--what-if %s", err->what);
		return CLI_USAGE;
	}
	if (r == -ENODATA && args->values[OPT_SENSITIVITY]) {
		cli_error("%s: --sensitivity: %s", args->operands[0], err->what);
		return CLI_INPUT;
	}
	if (r == -ENODATA) {
		cli_error("%s: --what-if %s; --force predicts anyway", args->operands[0],
			  err->what);
		return CLI_INPUT;
	}
	return cli_fail(r, err, "emulate", args->operands[0],
			r == -EBADMSG ? "`gputrace verify` lists the damage" : NULL);
}

static int emulate(const struct cli_args *args, const struct what_ifs *what_ifs,
		   struct fmt_trace *trace, struct replay_report *report,
		   struct sensitivity *sensitivity)
{
	const char *out = args->values[OPT_OUTPUT];
	struct fmt_error err = {0};
	struct job job = {0};
	bool force = args->values[OPT_FORCE] != NULL;
	const struct replay_options how = {
		.progress = on_progress,
		.context = &job,
		.what_ifs = what_ifs->items,
		.n_what_ifs = what_ifs->n,
		.force = force,
		.explain = what_ifs->n > 0,
	};
	int status = CLI_OK, r = out ? output_begin(&job.target, out, force) : 0;

	if (r < 0)
		return output_fail(r, out, !force);
	progress_begin(&job.bar);
	r = args->values[OPT_SENSITIVITY]
		    ? replay_sensitivity(trace, &how, sensitivity, &err)
		    : replay_emulate(trace, &how, out ? job.target.trace : NULL, report, &err);
	progress_end(&job.bar);
	if (r < 0)
		status = report_failure(args, r, &err);
	else if (out && (r = output_commit(&job.target)) < 0)
		status = output_fail(r, out, !force);
	output_done(&job.target);
	output_raise();
	return status;
}

static void report_to(const struct replay_report *report, const struct sensitivity *sensitivity,
		      bool json, struct text *out)
{
	int colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");

	if (sensitivity && json)
		sensitivity_json(sensitivity, out);
	else if (sensitivity)
		sensitivity_text(sensitivity, colour, out);
	else if (json && report->n_what_ifs > 0)
		replay_prediction_json(report, out);
	else if (json)
		replay_report_json(report, out);
	else if (report->n_what_ifs > 0)
		replay_prediction_text(report, colour, out);
	else
		replay_report_text(report, colour, out);
}

/* Checks which options go together. */
static int check_options(const struct cli_args *args, const struct what_ifs *what_ifs)
{
	if (args->values[OPT_SENSITIVITY] && (what_ifs->n > 0 || args->values[OPT_OUTPUT])) {
		cli_error("--sensitivity: cannot be combined with --what-if or -o");
		return CLI_USAGE;
	}
	if (what_ifs->n > 1 && args->values[OPT_OUTPUT]) {
		cli_error("-o: writes one run, so only one --what-if is possible");
		return CLI_USAGE;
	}
	return CLI_OK;
}

int gpureplay_emulate(const struct cli_args *args)
{
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	scoped(replay_report_done) struct replay_report report = {0};
	scoped(sensitivity_done) struct sensitivity sensitivity = {0};
	scoped(what_ifs_done) struct what_ifs what_ifs = {0};
	scoped(text_done) struct text out = {.limit = 1 << 16, .flush = print_text};
	int r = args->values[OPT_WHAT_IF] ? parse_what_ifs(args->values[OPT_WHAT_IF], &what_ifs)
					  : CLI_OK;

	/* Memory of slices is reused for the next ones; do not return it to the system in
	 * between. */
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	if (r == CLI_OK)
		r = check_options(args, &what_ifs);
	if (r == CLI_OK)
		r = trace_arg_open(args->operands[0], &trace);
	if (r == CLI_OK)
		r = emulate(args, &what_ifs, trace, &report, &sensitivity);
	if (r != CLI_OK)
		return r;
	report_to(&report, args->values[OPT_SENSITIVITY] ? &sensitivity : NULL,
		  args->values[OPT_JSON] != NULL, &out);
	r = text_flush(&out);
	return r < 0 ? cli_fail(r, NULL, "report on", args->operands[0], NULL) : CLI_OK;
}
