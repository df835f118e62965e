/* SPDX-License-Identifier: Apache-2.0 */

/* Executes one process of a recording; a launcher started one gpureplay for each of them. */
#include "base/scope.h"
#include "tools/gpureplay/reexecution.h"
#include "tools/output.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

bool reexecution_is_launched(const struct reexecution *job)
{
	return job->launched.launcher.count > 1;
}

/* Prints an error once. */
static int refuse_launched(const struct reexecution *job, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse_launched(const struct reexecution *job, int status, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (job->launched.launcher.index == 0)
		cli_error("%s", text);
	return status;
}

/* Checks before execution that the output can be written. Each process checks this itself, so that
 * none waits for a process that has failed. */
static int check_output(const struct reexecution *job)
{
	const char *out = job->args->values[OPT_OUTPUT];
	scoped(output_done) struct output target = {0};
	int r = output_begin(&target, out, job->args->values[OPT_FORCE] != NULL);

	if (r < 0 && job->launched.launcher.index > 0)
		return CLI_USAGE;
	return r < 0 ? output_fail(r, out, !job->args->values[OPT_FORCE]) : CLI_OK;
}

int reexecution_choose_launched(struct reexecution *job)
{
	const struct launcher *by = &job->launched.launcher;
	uint32_t n = job->processes.n;

	launcher_find(true, &job->launched.launcher);
	if (job->rank >= 0)
		job->launched.launcher.count = 0;
	if (!reexecution_is_launched(job))
		return CLI_OK;
	if (by->count != n)
		return refuse_launched(job, CLI_USAGE,
				       "started as %" PRIu32 " processes; %s has %" PRIu32,
				       by->count, job->path, n);
	if (job->repeat > 1)
		return refuse_launched(job, CLI_USAGE, "--repeat: not supported under a launcher");
	if (!job->args->values[OPT_OUTPUT])
		return refuse_launched(job, CLI_USAGE,
				       "missing -o OUT, in a folder that all %" PRIu32
				       " processes share",
				       by->count);
	return check_output(job);
}

/* Waits for the other processes, and renames the executed run. For process 0. */
static int wait_for_others(struct reexecution *job)
{
	const char *out = job->args->values[OPT_OUTPUT];
	scoped(output_done) struct output target = {0};
	int status, r = output_begin(&target, out, job->args->values[OPT_FORCE] != NULL);

	if (r < 0)
		return output_fail(r, out, !job->args->values[OPT_FORCE]);
	status = launched_wait(&job->launched, &job->counts);
	if (status != CLI_OK)
		return status == -ECANCELED ? CLI_MACHINE : status;
	if (rename(job->output, target.trace) < 0)
		r = -errno;
	if (r == 0)
		r = output_commit(&target);
	return r < 0 ? output_fail(r, out, !job->args->values[OPT_FORCE]) : CLI_OK;
}

/* Ends this process after it or another one failed. Each process reports its own failure, unless it
 * was killed. */
static int leave_session(const struct reexecution *job, int status)
{
	struct launched_failure failure;
	bool is_first = launched_leave(&job->launched, &failure);

	if (is_first && failure.is_killed)
		cli_error("cannot re-execute %s: process %" PRIu32 " (rank %" PRId64 ") was killed",
			  job->path, failure.index,
			  rex_processes_rank(job->recorded, &job->processes, failure.index));
	else if (is_first && failure.index > 0)
		cli_error("cannot re-execute %s: process %" PRIu32 " failed", job->path,
			  failure.index);
	output_raise();
	return failure.status != CLI_OK ? failure.status : status;
}

static int fail_to_begin(const struct reexecution *job, int r)
{
	output_raise();
	if (r != -ETIMEDOUT)
		return cli_fail(r, NULL, "use", job->launched.folder, NULL);
	if (job->launched.missing > 0)
		cli_error("process %" PRIu32 " has not started", job->launched.missing);
	else
		cli_error("not all %" PRIu32 " processes have started",
			  job->launched.launcher.count);
	return CLI_MACHINE;
}

int reexecution_run_launched(struct reexecution *job)
{
	struct launched *l = &job->launched;
	int status, r = launched_begin(l, job->args->values[OPT_OUTPUT]);

	if (r < 0)
		return fail_to_begin(job, r);
	snprintf(job->output, sizeof(job->output), "%s/run", l->session);
	status = reexecution_record(job, job->output);
	if (job->share)
		rex_share_get_counts(job->share, &job->counts);
	if (status == CLI_OK && l->launcher.index == 0)
		status = wait_for_others(job);
	if (status == CLI_OK && l->launcher.index == 0) {
		work_folder_remove(l->folder);
		r = trace_arg_open((char *)job->args->values[OPT_OUTPUT], &job->replayed);
		return r == CLI_OK ? reexecution_report(job) : r;
	}
	r = launched_end(l, status, &job->counts);
	if (status != CLI_OK)
		return leave_session(job, status);
	return r < 0 ? cli_fail(r, NULL, "use", l->folder, NULL) : CLI_OK;
}
