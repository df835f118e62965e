/* SPDX-License-Identifier: Apache-2.0 */

/* Fills device memory a few times and ends as its argument says: "exit", "_exit", "wait" (until a
 * signal arrives), or a signal number. "child N": a child process ends by signal N. */
#include "tests/emugpu/check_driver.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILLS = 5 };

static void use_gpu(void)
{
	CUcontext context;
	CUdeviceptr memory;

	OK(cuInit(0));
	OK(cuCtxCreate(&context, NULL, 0, 0));
	OK(cuMemAlloc(&memory, 4096));
	for (int i = 0; i < FILLS; i++)
		OK(cuMemsetD8(memory, 1, 4096));
}

static int end_as(const char *how)
{
	use_gpu();
	if (strcmp(how, "exit") == 0)
		return 0;
	if (strcmp(how, "_exit") == 0)
		_exit(0);
	if (strcmp(how, "wait") == 0) {
		puts("waiting");
		fflush(stdout);
		pause();
	}
	raise(atoi(how));
	return 1;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	TRUE(argc > 1);
	if (strcmp(argv[1], "child") != 0)
		return end_as(argv[1]);
	pid = fork();
	if (pid == 0)
		execl("/proc/self/exe", argv[0], argv[2], NULL);
	TRUE(waitpid(pid, &status, 0) == pid);
	return 0;
}
