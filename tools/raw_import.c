/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/raw_import.h"

#include "base/scope.h"
#include "capture/recorder/recorder.h"
#include "formats/render/grid.h"
#include "formats/run/gpucapture/calls/processes.h"
#include "formats/trace/json.h"
#include "tools/cli.h"
#include "tools/output.h"
#include "tools/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define IDLE_NS 5000000 /* between rounds without data */

/* ---- incomplete recordings */

static int read_until_empty(struct rec_recorder *r)
{
	const struct timespec t = {.tv_nsec = IDLE_NS};
	long n;

	do {
		n = rec_recorder_poll(r); /* finds out which programs run */
		if (output_signal())
			return -ECANCELED;
		nanosleep(&t, NULL);
	} while (n >= 0 && rec_recorder_has_processes(r));
	return n < 0 ? (int)n : rec_recorder_finish(r);
}

static int run_recorder(const char *path)
{
	struct rec_recorder *recorder = NULL;
	struct fmt_error err = {0};
	int r = rec_recorder_recover(path, &recorder, &err);

	if (r == -ENOENT || r == -EACCES || r == -EROFS)
		return CLI_OK; /* the file is complete */
	if (r == -EBUSY) {
		cli_error("cannot import %s: it is still being recorded", path);
		return CLI_INPUT;
	}
	if (r == 0)
		r = read_until_empty(recorder);
	if (r < 0 && recorder)
		rec_recorder_keep_session(recorder);
	rec_recorder_close(recorder);
	if (r == -ECANCELED)
		return CLI_FAILED;
	return r < 0 ? cli_fail(r, &err, "import", path, NULL) : CLI_OK;
}

int raw_import_complete(const struct recordings *recordings)
{
	int status = CLI_OK;

	for (size_t i = 0; i < recordings->n && status == CLI_OK; i++) {
		const char *suffix = strrchr(recordings->files[i], '.');

		if (suffix && strcmp(suffix, ".recording") == 0)
			status = run_recorder(recordings->files[i]);
	}
	return status;
}

/* ---- a trace */

static int report_failure(int r, const struct fmt_error *err, const struct output *target,
			  const char *hint)
{
	char text[PATH_MAX + 128] = "";

	if (hint)
		snprintf(text, sizeof(text),
			 "the raw recording remains; `gputrace import -o OUT %s` makes the trace",
			 hint);
	if (r == -ECANCELED && !hint)
		return CLI_FAILED;
	if (r == -ECANCELED) {
		cli_error("cannot write %s: interrupted; %s", target->path, text);
		return 128 + output_signal();
	}
	if (r == -EEXIST) {
		cli_error("cannot write %s: it exists already; %s", target->path,
			  hint ? text : "choose another");
		return CLI_USAGE;
	}
	return cli_fail(r, err, "write", target->path, hint ? text : NULL);
}

static int import_into(const struct recordings *recordings, struct output *target,
		       struct rec_import_report *ret, struct fmt_error *err)
{
	char folder[PATH_MAX + 16];
	struct progress bar;
	const struct rec_import options = {.files = (const char *const *)recordings->files,
					   .n_files = recordings->n,
					   .output = target->trace,
					   .folder = folder,
					   .progress = {output_progress, &bar}};
	int r;

	snprintf(folder, sizeof(folder), "%s/contents", target->folder.path);
	if (mkdir(folder, 0700) < 0)
		return -errno;
	progress_begin(&bar);
	r = rec_import(&options, ret, err);
	progress_end(&bar);
	if (r == 0 && output_signal())
		r = -ECANCELED;
	return r < 0 || !ret->has_calls ? r : output_commit(target);
}

int raw_import(const struct recordings *recordings, const char *output, int force, const char *hint,
	       struct rec_import_report *ret)
{
	struct fmt_error err = {0};
	struct output target;
	int r = output_begin(&target, output, force), status = CLI_OK;

	*ret = (struct rec_import_report){0};
	if (r < 0 && !hint)
		return output_fail(r, output, !force);
	if (r == 0)
		r = import_into(recordings, &target, ret, &err);
	if (r < 0)
		status = report_failure(r, &err, &target, hint);
	output_done(&target);
	return status;
}

/* ---- report */

void raw_import_json(struct text *t, const struct rec_import_report *r, const char *output)
{
	struct fmt_json j = {.text = t};

	fmt_json_open(&j, NULL, '{');
	fmt_json_str(&j, "trace", output);
	fmt_json_u64(&j, "ranks", r->result.n_ranks);
	fmt_json_u64(&j, "processes", r->result.n_processes);
	fmt_json_u64(&j, "iterations", r->result.n_iterations);
	fmt_json_u64(&j, "calls", r->result.calls);
	fmt_json_u64(&j, "operations", r->result.ops);
	fmt_json_u64(&j, "without_times", r->result.without_times);
	fmt_json_close(&j, '}');
}

void raw_import_text(struct text *t, const struct rec_import_report *r, const char *output)
{
	text_printf(t, "%s: %s, %s, %s\n", output, fmt_plural(r->result.n_ranks, "rank", "ranks").s,
		    fmt_plural(r->result.calls, "call", "calls").s,
		    fmt_plural(r->result.ops, "operation", "operations").s);
}

#define MOST_KILLED 8 /* maximum number of processes listed, one per line */

static void say_killed(const struct rec_killed *k, const char *output)
{
	const char *signal = rec_signal_name(k->signal);
	const char *when = !*k->last_call ? "" : k->in_call ? " in " : " after ";

	cli_error("%s (pid %d): killed%s%s%s%s; %s contains %s and %s of it",
		  *k->name ? k->name : "a process", (int)k->pid, signal ? " by " : "",
		  signal ? signal : "", when, k->last_call, output,
		  fmt_plural(k->calls, "call", "calls").s,
		  fmt_plural(k->ops, "operation", "operations").s);
}

void raw_import_print_killed(const struct rec_import_report *r, const char *output)
{
	if (r->damaged_file)
		cli_error("%s: damaged or cut off at byte %llu; %llu bytes are missing in %s",
			  r->damaged_file, (unsigned long long)r->damaged_at,
			  (unsigned long long)r->damaged_bytes, output);
	for (size_t i = 0; i < r->n_killed && i < MOST_KILLED; i++)
		say_killed(&r->killed[i], output);
	if (r->n_killed > MOST_KILLED)
		cli_error("%zu more processes were killed; see `gputrace info %s`",
			  r->n_killed - MOST_KILLED, output);
}
