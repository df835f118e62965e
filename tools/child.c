/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/child.h"

#include "base/array.h"
#include "tools/cli.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t child;

static void pass_on(int signal)
{
	if (child > 0)
		kill(child, signal);
}

void child_is(pid_t pid)
{
	child = pid;
}

int child_start(char **command)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_handler = pass_on};

	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		execvp(command[0], command);
		cli_error("cannot run %s: %s", command[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	return child;
}

int child_wait(void (*ended)(void *context, pid_t pid, int status), void *context)
{
	int status;

	for (;;) {
		pid_t pid = waitpid(ended ? -1 : child, &status, 0);

		if (pid == child)
			return status;
		if (pid < 0 && errno != EINTR)
			return -errno;
		if (pid > 0)
			ended(context, pid, status);
	}
}

int child_end(int status, int otherwise)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : otherwise;
}
