/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/child.h"

#include "base/array.h"
#include "base/scope.h"
#include "tools/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static volatile pid_t child;

void child_signal(int signal)
{
	if (child > 0 && signal)
		kill(child, signal);
}

void child_set(pid_t pid)
{
	child = pid;
}

/* In the child, with the signals blocked. They end it from here on, unless they were ignored. exec
 * closes `fd`; if exec fails, writes the errno to it. */
static void exec_command(char **command, const sigset_t *mask, int fd)
{
	struct sigaction old;
	int error;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			signal(signals[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
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
	struct sigaction action = {.sa_handler = child_signal};
	sigset_t blocked, mask;
	int fd[2], r;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	scoped(close_fd) int from = fd[0];
	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&blocked, signals[i]);
	sigprocmask(SIG_BLOCK, &blocked, &mask);
	child = fork();
	if (child == 0)
		exec_command(command, &mask, fd[1]);
	r = child < 0 ? -errno : 0;
	close(fd[1]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (r == 0)
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
