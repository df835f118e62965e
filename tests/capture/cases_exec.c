/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capture/cases.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int exec_again(void)
{
	char self[] = "cases", name[] = "calls", *argv[] = {self, name, NULL};

	CHECK(some_calls() == 0);
	execv("/proc/self/exe", argv);
	return 1;
}

int exec_fails(void)
{
	char name[] = "nothing", *argv[] = {name, NULL};

	CHECK(some_calls() == 0);
	CHECK(execv("/does/not/exist", argv) == -1 && errno == ENOENT);
	return cuCtxSynchronize();
}

int exec_listed(void)
{
	extern char **environ;

	CHECK(some_calls() == 0);
	CHECK(execl("/does/not/exist", "a", NULL) == -1 && errno == ENOENT);
	CHECK(execlp("does-not-exist", "a", "b", NULL) == -1 && errno == ENOENT);
	CHECK(execle("/does/not/exist", "a", "b", "c", NULL, environ) == -1 && errno == ENOENT);
	CHECK(fexecve(-1, (char *[]){NULL}, environ) == -1);
	return execle("/proc/self/exe", "cases", "calls", NULL, environ);
}

/* Runs a command like a shell: with vfork(), whose child is recorded only after exec. */
int spawn(void)
{
	CHECK(some_calls() == 0);
	CHECK(system("exit 7") == 7 << 8);
	return cuCtxSynchronize();
}

/* Starts programs without the preloaded library in the same session. */
int stripped(void)
{
	char self[] = "cases", name[] = "calls", *argv[] = {self, name, NULL};
	char instead[] = "LD_PRELOAD=libm.so.6";
	extern char **environ;
	size_t n = 0;
	pid_t pid;

	CHECK(some_calls() == 0);
	while (strncmp(environ[n], "LD_PRELOAD=", 11) != 0)
		n++;
	environ[n] = instead;
	CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0);
	CHECK(wait_child(pid) == 0);
	CHECK(unsetenv("LD_PRELOAD") == 0);
	execv("/proc/self/exe", argv);
	return 1;
}
