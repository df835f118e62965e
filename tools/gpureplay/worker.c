/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpureplay/worker.h"

#include "replay/device/execute.h"
#include "replay/device/sandbox.h"
#include "tools/cli.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define MOST_TRIES 16
#define SEED UINT64_C(0x67707572)

bool worker_is_self(void)
{
	return getenv(WORKER_VARIABLE) != NULL;
}

static int number_in(const char *variable, int otherwise)
{
	const char *value = getenv(variable);

	return value ? atoi(value) : otherwise;
}

static void set_number(const char *variable, long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", value);
	setenv(variable, text, 1);
}

/* Executes this program again, which gives it another address space layout. */
static int start_again(char **argv, const char *why)
{
	int tries = number_in(WORKER_TRY_VARIABLE, 0);

	if (tries < MOST_TRIES) {
		set_number(WORKER_TRY_VARIABLE, tries + 1);
		execv("/proc/self/exe", argv);
	}
	cli_error("cannot re-execute %s: %s, after %d attempts; omit --same-addresses", argv[1],
		  why, tries);
	return CLI_MACHINE;
}

/* Prints the reason, unless another process has failed. Returns the exit status. */
static int report_failure(struct rex_share *share, int r, const char *path, const char *why)
{
	if (rex_share_is_first_failure(share))
		cli_error("cannot re-execute %s: %s", path, *why ? why : strerror(-r));
	switch (r) {
	case -EIO:
		return CLI_FAILED;
	case -ENODEV:
		return CLI_MACHINE;
	default:
		return CLI_INPUT;
	}
}

/* Allows the processes devices, shared memory, and files that gpucapture reads from them. Processes
 * that a launcher started are not confined: each would be in a separate landlock domain, without
 * access to the descriptors and memory of the others, which a communicator may need. */
static int confine_files(void)
{
	const char *session = getenv("GPUCAPTURE_SESSION");
	struct rex_share *share;
	int r = rex_share_open(number_in(WORKER_SHARE_VARIABLE, -1), &share);
	const char *const writable[] = {"/dev", session ? session : "/dev", NULL};

	if (r < 0 || getenv(WORKER_TRY_VARIABLE)) /* started again: confined already */
		return r;
	return rex_sandbox_files(rex_share_settings(share)->folder[0] ? NULL : writable);
}

/* Shows the process the GPUs that the recorded process saw, unless the user selected some. */
static void restore_visible_devices(const struct fmt_trace *trace, uint32_t rank)
{
	const char *value =
		fmt_fact_value(fmt_trace_names(trace), rank, "env.CUDA_VISIBLE_DEVICES");
	char text[256];

	if (!value)
		return;
	value += *value == '"';
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(value, "\""), value);
	setenv("CUDA_VISIBLE_DEVICES", text, 0);
}

static void end_quietly(int signal)
{
	(void)signal;
	_exit(CLI_MACHINE);
}

/* SIGTERM means that another process failed, which is reported: this one must not count as killed.
 * start_all() blocks the signal, so that it does not arrive earlier. */
static void handle_end(void)
{
	sigset_t ending;

	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	signal(SIGTERM, end_quietly);
	sigprocmask(SIG_UNBLOCK, &ending, NULL);
}

/* Makes the calls of recorded process `index` in this process. */
static int run_one(struct fmt_trace *trace, uint32_t index, char **argv)
{
	struct rex_process process = {0};
	struct rex_options how = {.seed = SEED,
				  .can_retry = number_in(WORKER_TRY_VARIABLE, 0) < MOST_TRIES};
	struct rex_result result = {0};
	struct fmt_error err = {0};
	int r = rex_share_open(number_in(WORKER_SHARE_VARIABLE, -1), &how.share);

	if (r < 0)
		return cli_fail(r, NULL, "map", "the table of all processes", NULL);
	handle_end();
	r = rex_process_read(trace, index, rex_share_settings(how.share)->range, &process, &err);
	if (r < 0)
		return cli_fail(r, &err, "read", argv[1], NULL);
	if (process.unknown > 0)
		cli_error("%s: %" PRIu64 " calls of functions without a description are left out",
			  argv[1], process.unknown);
	if (rex_share_settings(how.share)->is_cut_off)
		process.n_calls = rex_share_settings(how.share)->stops[index];
	process.is_alone = rex_share_settings(how.share)->is_alone;
	if (process.n_ranks == 1)
		process.device = rex_share_settings(how.share)->device;
	if (process.device < 0)
		restore_visible_devices(trace, process.ranks[0]);
	setenv("GPUEMU_FIRST_ADDRESS", "0x5a3c3b000000", 0); /* not where the recorded memory was */
	r = rex_prepare(&process, &how, &result);
	if (r == -EEXIST)
		return start_again(argv, result.why);
	if (r == 0)
		r = rex_sandbox_calls();
	if (r == 0)
		r = rex_execute(&process, &how, &result);
	if (r < 0)
		return report_failure(how.share, r, argv[1], result.why);
	rex_share_add_counts(how.share, &result.counts);
	return CLI_OK;
}

static int start_all(const struct fmt_trace *trace, const struct rex_processes *all, char **argv,
		     pid_t *pids)
{
	sigset_t ending;

	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	for (uint32_t i = 0; i < all->n; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			sigprocmask(SIG_BLOCK, &ending, NULL);
			set_number(WORKER_VARIABLE, i);
			set_number("RANK", rex_processes_rank(trace, all, i));
			execv("/proc/self/exe", argv);
			_exit(CLI_MACHINE);
		}
		if (pids[i] < 0)
			return -errno;
	}
	return 0;
}

/* Continues as the recorded process with index `index`, with its rank. */
static int start_only(const struct fmt_trace *trace, const struct rex_processes *all,
		      uint32_t index, char **argv)
{
	set_number(WORKER_VARIABLE, index);
	set_number("RANK", rex_processes_rank(trace, all, index));
	execv("/proc/self/exe", argv);
	return cli_fail(-errno, NULL, "start a process for", argv[1], NULL);
}

static void report_killed(const char *path, uint32_t index, int64_t rank, int signal)
{
	cli_error("cannot re-execute %s: process %" PRIu32 " (rank %" PRId64
		  ") was killed by signal %d",
		  path, index, rank, signal);
}

/* Waits for all processes; after the first failure, ends the others, which would wait for it. */
static int wait_for_all(const struct fmt_trace *trace, const struct rex_processes *all,
			const char *path, pid_t *pids)
{
	int status, result = CLI_OK;
	pid_t pid;

	while ((pid = wait(&status)) > 0 || errno == EINTR) {
		int ended;

		if (pid <= 0)
			continue;
		ended = WIFEXITED(status) ? WEXITSTATUS(status) : CLI_MACHINE;
		for (uint32_t i = 0; i < all->n; i++) {
			if (pids[i] == pid) {
				pids[i] = 0;
				if (WIFSIGNALED(status) && result == CLI_OK)
					report_killed(path, i, rex_processes_rank(trace, all, i),
						      WTERMSIG(status));
			} else if (ended != CLI_OK && result == CLI_OK && pids[i] > 0) {
				kill(pids[i], SIGTERM);
			}
		}
		result = result != CLI_OK ? result : ended;
	}
	return result;
}

int worker_run(char **argv)
{
	scoped(fmt_trace_closep) struct fmt_trace *trace = NULL;
	scoped(rex_processes_done) struct rex_processes all = {0};
	scoped(free_ptr) pid_t *pids = NULL;
	const char *which = getenv(WORKER_VARIABLE);
	bool is_all = strcmp(which, WORKER_ALL) == 0;
	bool is_only = strncmp(which, WORKER_ONLY, strlen(WORKER_ONLY)) == 0;
	int r = trace_arg_open(argv[1], &trace);

	if (r != CLI_OK)
		return r;
	r = rex_processes_find(trace, &all);
	if (r < 0)
		return cli_fail(r, NULL, "read", argv[1], NULL);
	if (is_all || is_only) {
		r = confine_files();
		if (r < 0)
			return cli_fail(r, NULL, "confine the processes for", argv[1], NULL);
	}
	if (is_only)
		return start_only(trace, &all, (uint32_t)atoi(which + strlen(WORKER_ONLY)), argv);
	if (is_all && all.n == 1 && rex_processes_rank(trace, &all, 0) != 0)
		return start_only(trace, &all, 0, argv); /* gpucapture reads RANK at the start */
	if (!is_all || all.n == 1)
		return run_one(trace, (uint32_t)number_in(WORKER_VARIABLE, 0), argv);
	pids = calloc(all.n, sizeof(*pids));
	if (!pids)
		return cli_fail(-ENOMEM, NULL, "read", argv[1], NULL);
	r = start_all(trace, &all, argv, pids);
	if (r < 0) {
		for (uint32_t i = 0; i < all.n; i++)
			if (pids[i] > 0)
				kill(pids[i], SIGTERM);
		wait_for_all(trace, &all, argv[1], pids);
		return cli_fail(r, NULL, "start a process for", argv[1], NULL);
	}
	return wait_for_all(trace, &all, argv[1], pids);
}
