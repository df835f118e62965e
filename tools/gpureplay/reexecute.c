/* SPDX-License-Identifier: Apache-2.0 */

/* Re-executes a recorded run: gpucapture records processes that execute its calls again, and the
 * two recordings are compared. */
#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/fact_keys.h"
#include "formats/trace/store/part.h"
#include "replay/device/cut.h"
#include "replay/device/single_rank.h"
#include "tools/child.h"
#include "tools/gpureplay/gpureplay.h"
#include "tools/gpureplay/reexecution.h"
#include "tools/gpureplay/worker.h"
#include "tools/output.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void reexecution_done(struct reexecution *job)
{
	rex_processes_done(&job->processes);
	fmt_trace_close(job->recorded);
	fmt_trace_close(job->replayed);
	fmt_cause_done(&job->itself);
	fmt_unordered_done(&job->unordered);
	work_folder_done(&job->folder);
}

/* ---- checks that the run can be re-executed */

/* The level at which the run was digested, for gpucapture --digest. */
static const char *digest_level(const struct fmt_trace *t)
{
	static const char *const levels[] = {"\"comm\"", "\"step\"", "\"launch\""};
	static const char *const names[] = {"comm", "step", "launch"};
	const char *level =
		fmt_fact_value(fmt_trace_names(t), FMT_WHOLE_TRACE, FMT_DIGEST_LEVEL_KEY);

	for (size_t i = 0; level && i < ARRAY_SIZE(levels); i++)
		if (strcmp(level, levels[i]) == 0)
			return names[i];
	return "none";
}

static int check_recording(const struct reexecution *job)
{
	const char *by = fmt_fact_value(fmt_trace_names(job->recorded), FMT_WHOLE_TRACE,
					"gputrace.recorder");

	if (by && strcmp(by, "\"gpucapture\"") == 0)
		return gpureplay_may_run(job->args, fmt_trace_path(job->recorded), job->path);
	cli_error("cannot re-execute %s: not a recording of gpucapture; use gpureplay --emulate",
		  job->path);
	return CLI_INPUT;
}

/* Selects the iterations: those of --iterations, or all. */
static int choose_range(struct reexecution *job)
{
	const char *cublas = job->args->values[OPT_CUBLAS];
	struct rex_iteration_range wanted = {FMT_BEFORE, FMT_AFTER,
					     .cublas_calls = cublas && strcmp(cublas, "api") == 0};
	struct fmt_error err = {0};
	int64_t first, last;
	int r = cli_range(job->args, gpureplay_options, OPT_ITERATIONS, &first, &last);

	if (r < 0)
		return CLI_USAGE;
	if (first >= 0) {
		wanted.first = first;
		wanted.last = last;
	}
	r = rex_window_find(job->recorded, wanted, &job->range, &err);
	if (r == -ENOENT) {
		cli_error("--iterations: %s does not have these iterations", job->path);
		return CLI_USAGE;
	}
	return r < 0 ? cli_fail(r, &err, "read", job->path, NULL) : CLI_OK;
}

/* ---- a rank alone */

static uint32_t process_of(const struct reexecution *job)
{
	return job->processes.by_rank[job->rank];
}

static int choose_rank(struct reexecution *job)
{
	int64_t number;

	if (cli_number(job->args, &gpureplay_command, OPT_RANK, 0, UINT32_MAX, -1, &number) < 0)
		return CLI_USAGE;
	job->rank = number < 0 ? -1 : fmt_rank_index(job->recorded, number);
	if (number < 0 || job->rank >= 0)
		return CLI_OK;
	cli_error("--rank: %s has no rank %" PRId64, job->path, number);
	return CLI_USAGE;
}

/* Checks that the trace contains the data that the rank received; for a cut-off recording, up to
 * job->stop. */
static int check_rank(struct reexecution *job)
{
	scoped(rex_process_done) struct rex_process process = {0};
	struct rex_single_rank_refusal refusal = {0};
	struct fmt_error err = {0};
	int r = rex_process_read(job->recorded, process_of(job), job->range, &process, &err);

	if (r == 0)
		r = rex_single_rank_check(&process, &refusal, &err);
	if (r < 0)
		return cli_fail(r, &err, "read", job->path, NULL);
	job->stop = (uint32_t)process.n_calls;
	if (r == 0)
		return CLI_OK;
	if (refusal.is_missing && rex_is_cut_off(job->recorded)) {
		job->stop = (uint32_t)refusal.index;
		return CLI_OK;
	}
	cli_error("cannot re-execute rank %" PRIu32 " of %s alone: %s%s", reexecution_rank(job),
		  job->path, refusal.why, refusal.is_missing ? "; record with --payloads" : "");
	return CLI_INPUT;
}

/* ---- running the worker */

/* The executed run is recorded beside the output, or in a temporary folder. */
static int choose_output(struct reexecution *job, const struct output *target)
{
	const char *out = job->args->values[OPT_OUTPUT], *tmp = getenv("TMPDIR");
	char prefix[PATH_MAX];
	int r = 0;

	snprintf(prefix, sizeof(prefix), "%s/gpureplay-", tmp && *tmp ? tmp : "/tmp");
	if (!out || job->repeat > 1)
		r = work_folder_make(&job->folder, prefix, NULL);
	if (out)
		snprintf(job->output, sizeof(job->output), "%s", target->trace);
	else if (r == 0)
		snprintf(job->output, sizeof(job->output), "%s/replayed", job->folder.path);
	return r;
}

/* Makes the path of a program in this program's folder. */
static int own_folder_path(const char *name, char *ret, size_t cap)
{
	ssize_t n = readlink("/proc/self/exe", ret, cap - 1);
	char *slash;

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (!slash || (size_t)(slash + 1 - ret) + strlen(name) >= cap)
		return -ENAMETOOLONG;
	strcpy(slash + 1, name);
	return access(ret, X_OK) == 0 ? 0 : -errno;
}

/* Finds where the processes of a cut-off recording end. */
static int find_stops(struct reexecution *job, struct rex_settings *s)
{
	uint32_t n = job->processes.n;
	int r;

	job->is_cut_off = s->is_cut_off = rex_is_cut_off(job->recorded);
	if (!s->is_cut_off)
		return 0;
	if (n > REX_PROCESSES)
		return -E2BIG;
	r = rex_cut_find(job->recorded, job->range, s->stops, n, &job->left_out, NULL);
	if (r == 0 && job->rank >= 0 && s->stops[process_of(job)] > job->stop) {
		job->left_out += s->stops[process_of(job)] - job->stop;
		s->stops[process_of(job)] = job->stop;
	}
	return r;
}

static void set_number(const char *variable, const char *before, uint32_t number)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%" PRIu32, before, number);
	setenv(variable, text, 1);
}

/* For one of several processes: gpucapture records a part of the run. */
static void set_launched(const struct reexecution *job, struct rex_settings *s)
{
	const struct launched *l = &job->launched;

	snprintf(s->folder, sizeof(s->folder), "%s", l->session);
	s->device = l->launcher.local;
	set_number(WORKER_VARIABLE, WORKER_ONLY, l->launcher.index);
	set_number(LAUNCHER_PART_VARIABLE, "", l->launcher.index);
	set_number(LAUNCHER_PARTS_VARIABLE, "", l->launcher.count);
	setenv(LAUNCHER_RUN_VARIABLE, strrchr(l->session, '/') + 1, 1);
}

/* Selects the processes to run. */
static void set_workers(const struct reexecution *job, struct rex_settings *s)
{
	s->device = -1;
	if (reexecution_is_launched(job)) {
		set_launched(job, s);
		return;
	}
	/* Clear the launcher's variables: the worker is not a part of a run. */
	set_number(LAUNCHER_PART_VARIABLE, "", 0);
	set_number(LAUNCHER_PARTS_VARIABLE, "", 1);
	if (job->rank < 0) {
		setenv(WORKER_VARIABLE, WORKER_ALL, 1);
		return;
	}
	s->is_alone = true;
	s->device = 0;
	/* With a digest of each launch, the operations that wrote the inputs are compared. */
	s->checks_inputs = strcmp(digest_level(job->recorded), "launch") != 0;
	set_number(WORKER_VARIABLE, WORKER_ONLY, process_of(job));
}

static int set_environment(struct reexecution *job)
{
	const char *speed = job->args->values[OPT_SPEED];
	struct rex_settings *settings;
	char number[16];
	int fd = rex_share_create(), r;

	if (fd < 0)
		return fd;
	r = rex_share_open(fd, &job->share);
	if (r < 0)
		return r;
	job->share_fd = fd;
	settings = rex_share_settings(job->share);
	settings->range = job->range;
	settings->keeps_gaps = speed && strcmp(speed, "recorded") == 0;
	settings->same_addresses = job->args->values[OPT_SAME_ADDRESSES] != NULL;
	r = find_stops(job, settings);
	if (r < 0)
		return r;
	snprintf(number, sizeof(number), "%d", fd);
	set_workers(job, settings);
	setenv(WORKER_SHARE_VARIABLE, number, 1);
	return 0;
}

int reexecution_record(struct reexecution *job, char *output)
{
	const char *untimed = fmt_fact_value(fmt_trace_names(job->recorded), FMT_WHOLE_TRACE,
					     FMT_DEVICE_TIMES_KEY);
	const char *every = job->args->values[OPT_KEYFRAME];
	char recorder[4096], self[4096], level[32], keyframe[64];
	char *times = untimed ? (char[]){"--device-times=off"} : (char[]){"--device-times=events"};
	char replayable[] = "--replayable", end[] = "--";
	char *command[12] = {recorder, level, times, (char[]){"-o"}, output};
	int status, n = 5, r = own_folder_path("gpucapture", recorder, sizeof(recorder));

	if (r < 0)
		return cli_fail(r, NULL, "find", "gpucapture",
				"it must be in the folder of gpureplay");
	r = own_folder_path("gpureplay", self, sizeof(self));
	if (r == 0)
		r = set_environment(job);
	if (r < 0)
		return cli_fail(r, NULL, "start", recorder, NULL);
	snprintf(level, sizeof(level), "--digest=%s", digest_level(job->recorded));
	if (every) {
		snprintf(keyframe, sizeof(keyframe), "--keyframe=%s", every);
		command[n++] = replayable;
		command[n++] = keyframe;
	}
	command[n++] = end;
	command[n++] = self;
	command[n++] = (char *)job->path;
	r = child_start(command);
	if (r < 0)
		return child_print_error(r, recorder);
	child_signal(output_signal());
	status = reexecution_is_launched(job) ? launched_watch(&job->launched, r)
					      : child_wait(NULL, NULL);
	if (status < 0)
		return cli_fail(status, NULL, "wait for", recorder, NULL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_MACHINE;
}

/* Compares execution `number` with the first one. */
static int compare_again(struct reexecution *job, struct fmt_trace *again, int64_t number,
			 struct fmt_error *err)
{
	scoped(fmt_cause_done) struct fmt_cause found = {0};
	struct fmt_cause_scope scope = FMT_CAUSE_ALL(false);
	int r;

	scope.learned = &job->unordered;
	r = fmt_cause_find(job->replayed, again, &scope, &found, err);
	if (r == 0 && found.kind != FMT_CAUSE_NONE && job->differing == 0) {
		job->itself = found;
		job->differing = number;
		memset(&found, 0, sizeof(found));
	}
	return r;
}

/* Executes the run again, and compares it with the first execution. */
static int run_again(struct reexecution *job, int64_t number)
{
	scoped(fmt_trace_closep) struct fmt_trace *again = NULL;
	struct rex_share *first = job->share;
	struct fmt_error err = {0};
	char output[PATH_MAX + 16];
	int r;

	snprintf(output, sizeof(output), "%s/again", job->folder.path);
	r = reexecution_record(job, output);
	if (job->share != first)
		rex_share_close(job->share, job->share_fd);
	job->share = first; /* has the counts of the first execution */
	if (r == CLI_OK)
		r = trace_arg_open(output, &again);
	if (r != CLI_OK)
		return r;
	r = compare_again(job, again, number, &err);
	work_folder_remove(output);
	return r < 0 ? cli_fail(r, &err, "compare", output, NULL) : CLI_OK;
}

/* Runs the other executions, and stores the nondeterministic operations in the executed trace. */
static int run_repeated(struct reexecution *job)
{
	struct fmt_error err = {0};
	int r = CLI_OK;

	for (int64_t i = 2; i <= job->repeat && r == CLI_OK; i++)
		r = run_again(job, i);
	if (r != CLI_OK || job->repeat == 1 || !job->args->values[OPT_OUTPUT])
		return r;
	r = reexecution_keep_unordered(job, &err);
	return r < 0 ? cli_fail(r, &err, "write", job->output, NULL) : CLI_OK;
}

/* Renames the executed run to the output. */
static int commit_output(struct reexecution *job, struct output *target)
{
	int r = output_commit(target);

	snprintf(job->output, sizeof(job->output), "%s", target->path);
	return r < 0 ? output_fail(r, target->path, !job->args->values[OPT_FORCE]) : CLI_OK;
}

int gpureplay_reexecute(const struct cli_args *args)
{
	const char *out = args->values[OPT_OUTPUT];
	scoped(output_done) struct output target = {0};
	scoped(reexecution_done) struct reexecution job = {.args = args, .path = args->operands[0]};
	int r;

	if (cli_number(args, &gpureplay_command, OPT_REPEAT, 1, 1000000, 1, &job.repeat) < 0)
		return CLI_USAGE;
	r = trace_arg_open(job.path, &job.recorded);
	if (r == CLI_OK)
		r = check_recording(&job);
	if (r == CLI_OK && rex_processes_find(job.recorded, &job.processes) < 0)
		r = cli_fail(-ENOMEM, NULL, "read", job.path, NULL);
	if (r == CLI_OK)
		r = choose_range(&job);
	if (r == CLI_OK)
		r = choose_rank(&job);
	if (r == CLI_OK && job.rank >= 0)
		r = check_rank(&job);
	if (r == CLI_OK)
		r = reexecution_choose_launched(&job);
	if (r != CLI_OK)
		return r;
	if (reexecution_is_launched(&job))
		return reexecution_run_launched(&job);
	r = out ? output_begin(&target, out, args->values[OPT_FORCE] != NULL) : 0;
	if (r < 0)
		return output_fail(r, out, !args->values[OPT_FORCE]);
	r = choose_output(&job, &target);
	if (r < 0)
		return cli_fail(r, NULL, "make", "a temporary folder", NULL);
	r = reexecution_record(&job, job.output);
	if (r == CLI_OK)
		rex_share_get_counts(job.share, &job.counts);
	if (r == CLI_OK)
		r = trace_arg_open(job.output, &job.replayed);
	if (r == CLI_OK)
		r = run_repeated(&job);
	if (r == CLI_OK && out)
		r = commit_output(&job, &target);
	return r == CLI_OK ? reexecution_report(&job) : r;
}
