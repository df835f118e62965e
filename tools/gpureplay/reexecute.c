/* SPDX-License-Identifier: Apache-2.0 */

/* Re-executes a recorded run: gpucapture records processes that make its calls again, and the two
 * recordings are compared. */
#include "base/array.h"
#include "base/scope.h"
#include "formats/render/report/cause.h"
#include "formats/trace/facts.h"
#include "replay/device/cut.h"
#include "replay/device/recorded.h"
#include "replay/device/share.h"
#include "tools/child.h"
#include "tools/gpureplay/gpureplay.h"
#include "tools/gpureplay/worker.h"
#include "tools/trace_arg.h"
#include "tools/work_folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

struct job {
	const struct cli_args *args;
	const char *path;
	struct fmt_trace *recorded, *replayed;
	struct rex_share *share;
	int share_fd;
	struct rex_range range; /* iterations that are executed */
	bool is_cut_off;
	uint64_t left_out;	 /* calls of a recording that was cut off */
	int64_t repeat;		 /* executions */
	struct fmt_cause itself; /* how the first execution that differs from the first one does */
	struct work_folder folder; /* if no output is given, and for repetitions */
	char output[PATH_MAX + 16];
};

static void job_done(struct job *job)
{
	fmt_trace_close(job->recorded);
	fmt_trace_close(job->replayed);
	fmt_cause_done(&job->itself);
	work_folder_done(&job->folder);
}

/* ---- what can be re-executed */

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

static int check_recording(const struct job *job)
{
	const char *by = fmt_fact_value(fmt_trace_names(job->recorded), FMT_WHOLE_TRACE,
					"gputrace.recorder");

	if (by && strcmp(by, "\"gpucapture\"") == 0)
		return gpureplay_may_run(job->args, fmt_trace_path(job->recorded), job->path);
	cli_error("cannot re-execute %s: not a recording of gpucapture; gpureplay --emulate %s "
		  "needs no calls",
		  job->path, job->path);
	return CLI_INPUT;
}

/* Chooses the iterations: those of --iterations, or all that are there. */
static int choose_range(struct job *job)
{
	const char *cublas = job->args->values[OPT_CUBLAS];
	struct rex_range wanted = {FMT_BEFORE, FMT_AFTER,
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

/* ---- running it */

static int choose_output(struct job *job)
{
	const char *out = job->args->values[OPT_OUTPUT], *tmp = getenv("TMPDIR");
	char prefix[PATH_MAX];
	int r = 0;

	snprintf(prefix, sizeof(prefix), "%s/gpureplay-", tmp && *tmp ? tmp : "/tmp");
	if (!out || job->repeat > 1)
		r = work_folder_make(&job->folder, prefix, NULL);
	if (out)
		snprintf(job->output, sizeof(job->output), "%s", out);
	else if (r == 0)
		snprintf(job->output, sizeof(job->output), "%s/replayed", job->folder.path);
	return r;
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

/* Finds where the processes of a recording that was cut off end. */
static int find_stops(struct job *job, struct rex_settings *s)
{
	uint32_t n = rex_process_count(job->recorded);

	job->is_cut_off = s->is_cut_off = rex_is_cut_off(job->recorded);
	if (!s->is_cut_off)
		return 0;
	return n > REX_PROCESSES
		       ? -E2BIG
		       : rex_cut_find(job->recorded, job->range, s->stops, n, &job->left_out, NULL);
}

static int set_environment(struct job *job)
{
	const char *speed = job->args->values[OPT_SPEED];
	struct rex_settings *settings;
	char number[16];
	int fd = rex_share_make(), r;

	if (fd < 0)
		return fd;
	r = rex_share_open(fd, &job->share);
	if (r < 0)
		return r;
	job->share_fd = fd;
	settings = rex_share_settings(job->share);
	settings->range = job->range;
	settings->keeps_gaps = speed && strcmp(speed, "recorded") == 0;
	settings->relocate = job->args->values[OPT_RELOCATE] != NULL;
	r = find_stops(job, settings);
	if (r < 0)
		return r;
	snprintf(number, sizeof(number), "%d", fd);
	setenv(WORKER_VARIABLE, "all", 1);
	setenv(WORKER_SHARE_VARIABLE, number, 1);
	return 0;
}

/* Runs the calls under gpucapture, which writes `output`. Returns the exit status. */
static int run_recorded(struct job *job, char *output)
{
	char recorder[4096], self[4096], level[32];
	char force[] = "-f", end[] = "--";
	char *command[10] = {recorder, level, (char[]){"-o"}, output};
	int status, n = 4, r = beside("gpucapture", recorder, sizeof(recorder));

	if (r < 0)
		return cli_fail(r, NULL, "find", "gpucapture", "it belongs beside gpureplay");
	r = beside("gpureplay", self, sizeof(self));
	if (r == 0)
		r = set_environment(job);
	if (r < 0)
		return cli_fail(r, NULL, "start", recorder, NULL);
	snprintf(level, sizeof(level), "--digest=%s", digest_level(job->recorded));
	if (job->args->values[OPT_FORCE])
		command[n++] = force;
	command[n++] = end;
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

/* Executes the run again, and compares it with the first execution. */
static int run_again(struct job *job)
{
	scoped(fmt_trace_closep) struct fmt_trace *again = NULL;
	struct rex_share *first = job->share;
	struct fmt_error err = {0};
	char output[PATH_MAX + 16];
	int r;

	snprintf(output, sizeof(output), "%s/again", job->folder.path);
	r = run_recorded(job, output);
	if (job->share != first)
		rex_share_close(job->share, job->share_fd);
	job->share = first; /* has the counts of the first execution */
	if (r == CLI_OK)
		r = trace_arg_open(output, &again);
	if (r != CLI_OK)
		return r;
	fmt_cause_done(&job->itself);
	job->itself = (struct fmt_cause){0};
	r = fmt_cause_find(job->replayed, again, &FMT_CAUSE_ALL(false), &job->itself, &err);
	work_folder_remove(output);
	return r < 0 ? cli_fail(r, &err, "compare", output, NULL) : CLI_OK;
}

/* Until an execution differs, or K have been made. */
static int run_repeated(struct job *job)
{
	int r = CLI_OK;

	for (int64_t i = 1; i < job->repeat && r == CLI_OK; i++) {
		r = run_again(job);
		if (job->itself.kind != FMT_CAUSE_NONE)
			job->repeat = i + 1;
	}
	return r;
}

/* ---- the report */

struct sum {
	uint64_t operations, digests, alone, differing;
};

static struct sum sum_of(const struct fmt_cause *c)
{
	struct sum s = {0};

	for (uint32_t i = 0; i < c->n_ranks; i++) {
		s.operations += c->ranks[i].operations;
		s.digests += c->ranks[i].digests;
		s.alone += c->ranks[i].alone;
		s.differing += c->ranks[i].differing;
	}
	return s;
}

/* Prints which part of the run was executed. */
static void put_range(const struct job *job, struct text *out)
{
	if (job->range.first == FMT_BEFORE && job->range.last == FMT_AFTER)
		return;
	text_str(out, "Executed: from ");
	if (job->range.first == FMT_BEFORE)
		text_str(out, "the beginning");
	else
		text_printf(out, "iteration %" PRId64, job->range.first);
	if (job->range.last == FMT_AFTER)
		text_str(out, " to the end\n");
	else
		text_printf(out, " to iteration %" PRId64 "\n", job->range.last);
}

static void put_unknown(const struct rex_counts *n, struct text *out)
{
	if (n->seeded > 0)
		text_printf(out,
			    "%" PRIu64 " copies from the host had contents that are not recorded "
			    "(record with --payloads); what depends on them cannot be compared.\n",
			    n->seeded);
	if (n->missing_bytes > 0)
		text_printf(out,
			    "%" PRIu64 " bytes of memory that lived at the beginning are not "
			    "recorded (record with --payloads); what depends on them cannot be "
			    "compared.\n",
			    n->missing_bytes);
}

static void put_text(const struct job *job, const struct fmt_cause *c, const struct rex_counts *n,
		     struct text *out)
{
	struct sum s = sum_of(c);

	text_printf(out, "%s: %" PRIu64 " calls made again, %" PRIu64 " operations", job->path,
		    n->made, s.operations);
	text_printf(out, ", %" PRIu64 " digests compared\n", s.digests);
	put_range(job, out);
	if (job->is_cut_off)
		text_printf(out,
			    "The recording was cut off. Executed up to there; left out: %" PRIu64
			    " calls behind a call of another process, or a content, that is not "
			    "recorded.\n",
			    job->left_out);
	if (c->kind == FMT_CAUSE_NONE)
		text_str(out, s.digests > 0 ? "All are the same.\n"
					    : "The recording has no digests: record it with "
					      "--digest=launch.\n");
	else {
		text_str(out, "First difference: ");
		fmt_cause_text(c, out);
		text_char(out, '\n');
	}
	fmt_cause_ranks_text(c, out);
	if (job->repeat > 1 && job->itself.kind == FMT_CAUSE_NONE)
		text_printf(out, "Executed %" PRId64 " times: each operation is exact.\n",
			    job->repeat);
	else if (job->repeat > 1) {
		text_printf(out, "Execution %" PRId64 " differs from the first one: ", job->repeat);
		fmt_cause_text(&job->itself, out);
		text_char(out, '\n');
		fmt_cause_ranks_text(&job->itself, out);
	}
	put_unknown(n, out);
	if (s.alone > 0)
		text_printf(out, "%" PRIu64 " digests are in one of the two only.\n", s.alone);
}

/* A bound of the range; null: that of the recording. */
static void put_bound(struct fmt_json *j, const char *key, int64_t number)
{
	if (number < 0)
		fmt_json_verbatim(j, key, "null", 4);
	else
		fmt_json_i64(j, key, number);
}

static void put_json(const struct job *job, const struct fmt_cause *c, const struct rex_counts *n,
		     struct text *out)
{
	struct fmt_json j = {.text = out, .broken = 1};

	fmt_json_open(&j, NULL, '{');
	fmt_json_bool(&j, "same", c->kind == FMT_CAUSE_NONE);
	put_bound(&j, "first_iteration", job->range.first);
	put_bound(&j, "last_iteration", job->range.last);
	fmt_json_bool(&j, "cut_off", job->is_cut_off);
	fmt_json_u64(&j, "calls_left_out", job->left_out);
	fmt_json_u64(&j, "calls", n->made);
	fmt_json_u64(&j, "copies_with_unknown_contents", n->seeded);
	fmt_json_u64(&j, "unknown_bytes_at_begin", n->missing_bytes);
	fmt_cause_json(c, &j);
	if (job->repeat > 1) {
		fmt_json_open(&j, "repeated", '{');
		fmt_json_i64(&j, "executions", job->repeat);
		fmt_json_bool(&j, "same", job->itself.kind == FMT_CAUSE_NONE);
		fmt_cause_json(&job->itself, &j);
		fmt_json_close(&j, '}');
	}
	fmt_json_close(&j, '}');
}

static int report(struct job *job)
{
	scoped(fmt_cause_done) struct fmt_cause cause = {0};
	scoped(text_done) struct text out = {0};
	struct fmt_error err = {0};
	struct fmt_cause_scope scope = FMT_CAUSE_ALL(false);
	struct rex_counts counts;
	int r;

	scope.first = job->range.first;
	scope.last = job->range.last;
	scope.is_part = job->range.first != FMT_BEFORE;
	scope.may_end_earlier = job->is_cut_off;
	r = fmt_cause_find(job->recorded, job->replayed, &scope, &cause, &err);

	if (r < 0)
		return cli_fail(r, &err, "compare", job->path, NULL);
	rex_share_counts(job->share, &counts);
	if (job->args->values[OPT_JSON])
		put_json(job, &cause, &counts, &out);
	else
		put_text(job, &cause, &counts, &out);
	if (out.error || fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return cli_fail(out.error ? out.error : -EIO, NULL, "report on", job->path, NULL);
	return cause.kind == FMT_CAUSE_NONE ? CLI_OK : CLI_FAILED;
}

int gpureplay_reexecute(const struct cli_args *args)
{
	scoped(job_done) struct job job = {.args = args, .path = args->operands[0]};
	int r;

	if (cli_number(args, &gpureplay_command, OPT_REPEAT, 1, 1000000, 1, &job.repeat) < 0)
		return CLI_USAGE;
	r = trace_arg_open(job.path, &job.recorded);
	if (r == CLI_OK)
		r = check_recording(&job);
	if (r == CLI_OK)
		r = choose_range(&job);
	if (r != CLI_OK)
		return r;
	r = choose_output(&job);
	if (r < 0)
		return cli_fail(r, NULL, "make", "a temporary folder", NULL);
	r = run_recorded(&job, job.output);
	if (r == CLI_OK)
		r = trace_arg_open(job.output, &job.replayed);
	if (r == CLI_OK)
		r = run_repeated(&job);
	return r == CLI_OK ? report(&job) : r;
}
