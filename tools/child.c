/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/child.h"

#include "base/array.h"
#include "base/scope.h"
#include "tools/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t child;

static void forward_signal(int signal)
{
	if (child > 0)
		kill(child, signal);
}

void child_set(pid_t pid)
{
	child = pid;
}

/* In the child. exec closes `fd`; if exec fails, writes the errno to it. */
static void exec_command(char **command, int fd)
{
	int error;

	execvp(command[0], command);
	error = errno;
	_exit(write(fd, &error, sizeof(error)) < 0 ? 126 : 127);
}

/* The negative errno with which exec failed; 0: the command was started. */
static int is_begun(int fd)
{
	int error = 0;
	ssize_t n;

	do {
		n = read(fd, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	if (error == 0)
		return 0;
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	child = 0;
	return -error;
}

int child_start(char **command)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	struct sigaction action = {.sa_handler = forward_signal};
	int fd[2], r;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	scoped(close_fd) int from = fd[0];
	child = fork();
	if (child == 0)
		exec_command(command, fd[1]);
	r = child < 0 ? -errno : 0;
	close(fd[1]);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	r = is_begun(from);
	return r < 0 ? r : child;
}

int child_print_error(int r, const char *command)
{
	cli_error("cannot run %s: %s", command, strerror(-r));
	return r == -ENOENT ? 127 : 126;
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
