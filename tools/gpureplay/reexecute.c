/* SPDX-License-Identifier: Apache-2.0 */

/* Re-executes a recorded run: gpucapture records processes that make its calls again, and the two
 * recordings are compared. */
#include "base/scope.h"
#include "formats/render/report/compare.h"
#include "replay/device/recorded.h"
#include "replay/device/share.h"
#include "tools/child.h"
#include "tools/gpureplay/gpureplay.h"
#include "tools/gpureplay/worker.h"
#include "tools/place.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

struct job {
	const struct cli_args *args;
	const char *path;
	struct fmt_trace *recorded, *replayed;
	struct rex_share *share;
	char folder[64]; /* a temporary one, or empty */
	char output[4096];
};

static void job_done(struct job *job)
{
	fmt_trace_close(job->recorded);
	fmt_trace_close(job->replayed);
	if (job->folder[0])
		place_remove(job->folder);
}

/* ---- what can be re-executed */

/* Whether a slice has digests of what kernels read or wrote. */
static bool has_launch_digests(struct fmt_trace *t, const struct fmt_slice *s)
{
	for (size_t i = 0; i < s->n_digests; i++) {
		fmt_number op = s->digests[i].op - s->first_number;
		const struct fmt_template *template =
			op < s->n_events ? fmt_template(fmt_trace_names(t), s->events[op].template)
					 : NULL;

		if (template && template->kind == FMT_KERNEL)
			return true;
	}
	return false;
}

/* The level at which the run was digested, for gpucapture --digest. */
static int digest_level(struct fmt_trace *t, const char **ret, struct fmt_error *err)
{
	*ret = "none";
	for (uint32_t rank = 0; rank < fmt_trace_n_ranks(t); rank++)
		for (uint32_t i = 0; i < fmt_trace_rank(t, rank)->n_slices; i++) {
			scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
			int r;

			if (fmt_trace_slice(t, rank, i)->n_digests == 0)
				continue;
			*ret = "comm";
			r = fmt_slice_load(t, rank, i, FMT_WANT_OPS | FMT_WANT_CALLS |
							       FMT_WANT_DIGESTS,
					   &s, err);
			if (r < 0)
				return r;
			if (has_launch_digests(t, s)) {
				*ret = "launch";
				return 0;
			}
		}
	return 0;
}

static int check_recording(const struct job *job)
{
	const char *by = fmt_fact_value(fmt_trace_names(job->recorded), FMT_WHOLE_TRACE,
					"gputrace.recorder");

	if (by && strcmp(by, "\"gpucapture\"") == 0)
		return CLI_OK;
	cli_error("cannot re-execute %s: not a recording of gpucapture; gpureplay --emulate %s "
		  "needs no calls",
		  job->path, job->path);
	return CLI_INPUT;
}

/* ---- running it */

static int choose_output(struct job *job)
{
	const char *out = job->args->values[OPT_OUTPUT], *tmp = getenv("TMPDIR");

	if (out) {
		snprintf(job->output, sizeof(job->output), "%s", out);
		return 0;
	}
	snprintf(job->folder, sizeof(job->folder), "%.40s/gpureplay-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(job->folder)) {
		job->folder[0] = '\0';
		return -errno;
	}
	snprintf(job->output, sizeof(job->output), "%s/replayed", job->folder);
	return 0;
}

/* The path of a program beside this one. */
static int beside(const char *name, char *ret, size_t cap)
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

static int set_environment(struct job *job)
{
	char number[16];
	int fd = rex_share_make(), r;

	if (fd < 0)
		return fd;
	r = rex_share_open(fd, &job->share);
	snprintf(number, sizeof(number), "%d", fd);
	setenv(WORKER_VARIABLE, "all", 1);
	setenv(WORKER_SHARE_VARIABLE, number, 1);
	if (job->args->values[OPT_RELOCATE])
		setenv(WORKER_RELOCATE_VARIABLE, "1", 1);
	return r;
}

/* Runs the calls under gpucapture. Returns the exit status. */
static int run_recorded(struct job *job)
{
	char recorder[4096], self[4096], level[32];
	char *command[10] = {recorder, level, (char[]){"-o"}, job->output};
	const char *name = "none";
	struct fmt_error err = {0};
	int status, n = 4, r = digest_level(job->recorded, &name, &err);

	if (r < 0)
		return cli_fail(r, &err, "read", job->path, NULL);
	r = beside("gpucapture", recorder, sizeof(recorder));
	if (r < 0)
		return cli_fail(r, NULL, "find", "gpucapture", "it belongs beside gpureplay");
	r = beside("gpureplay", self, sizeof(self));
	if (r == 0)
		r = set_environment(job);
	if (r < 0)
		return cli_fail(r, NULL, "start", recorder, NULL);
	snprintf(level, sizeof(level), "--digest=%s", name);
	if (job->args->values[OPT_FORCE])
		command[n++] = (char[]){"-f"};
	command[n++] = (char[]){"--"};
	command[n++] = self;
	command[n++] = (char *)job->path;
	r = child_start(command);
	if (r < 0)
		return child_unbegun(r, recorder);
	status = child_wait(NULL, NULL);
	if (status < 0)
		return cli_fail(status, NULL, "wait for", recorder, NULL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_MACHINE;
}

int gpureplay_reexecute(const struct cli_args *args)
{
	scoped(job_done) struct job job = {.args = args, .path = args->operands[0]};
	scoped(fmt_difference_done) struct fmt_difference d = {.rank = -1};
	struct fmt_error err = {0};
	uint64_t made, seeded;
	int r = trace_arg_open(job.path, &job.recorded);

	if (r == CLI_OK)
		r = check_recording(&job);
	if (r != CLI_OK)
		return r;
	r = choose_output(&job);
	if (r < 0)
		return cli_fail(r, NULL, "make", "a temporary folder", NULL);
	r = run_recorded(&job);
	if (r != CLI_OK)
		return r;
	r = trace_arg_open(job.output, &job.replayed);
	if (r != CLI_OK)
		return r;
	rex_share_counts(job.share, &made, &seeded);
	r = fmt_compare(job.recorded, job.replayed, false, &d, &err);
	if (r < 0)
		return cli_fail(r, &err, "compare", job.path, NULL);
	printf("%llu calls made, %llu copies with unknown contents\n", (unsigned long long)made,
	       (unsigned long long)seeded);
	if (r == 0)
		printf("the same\n");
	else
		printf("GPU %ld iteration %ld %s number %ld: %.*s / %.*s\n", (long)d.rank,
		       (long)d.iteration, d.track, (long)d.event, (int)d.first.len, d.first.data,
		       (int)d.second.len, d.second.data);
	return r ? CLI_FAILED : CLI_OK;
}
