/* SPDX-License-Identifier: Apache-2.0 */

/* The host clock in a run of gpuemu: what advances it, what does not, and that a process continues
 * from its parent's time, however it was started. */
#include "replay/emugpu/driver/clock.h"
#include "tests/emugpu/check_driver.h"

#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define FAR (1000 * SECOND) /* longer than any test */

extern char **environ;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void work(uint64_t ns)
{
	for (uint64_t start = cpu_ns(); cpu_ns() - start < ns;)
		;
}

static void own_work_counts(void)
{
	struct timespec nap = {.tv_nsec = 20000000};
	uint64_t before = gpuemu_host_ns(), cpu, now;

	work(5000000);
	TRUE(gpuemu_host_ns() - before >= 4900000);
	/* Reads the clock around the CPU clock, to subtract time in which the machine ran something
	 * else. */
	cpu = cpu_ns();
	before = gpuemu_host_ns();
	syscall(SYS_nanosleep, &nap, NULL); /* as if the host ran something else */
	now = gpuemu_host_ns();
	TRUE(now - before <= cpu_ns() - cpu + 1000000);
}

static void work_aside_does_not(void)
{
	uint64_t cpu = cpu_ns(), before = gpuemu_host_ns(), now;

	gpuemu_clock_pause();
	now = gpuemu_host_ns();
	work(20000000);
	gpuemu_clock_pause();
	for (int i = 0; i < 1000; i++)
		TRUE(gpuemu_host_ns() == now);
	gpuemu_clock_resume();
	work(20000000);
	TRUE(gpuemu_host_ns() == now);
	gpuemu_clock_resume();
	now = gpuemu_host_ns();
	TRUE(now - before <= cpu_ns() - cpu - 39000000);
	before = gpuemu_host_ns();
	work(5000000);
	TRUE(gpuemu_host_ns() - before >= 4900000);
}

static void *thread(void *ret)
{
	*(uint64_t *)ret = gpuemu_host_ns();
	work(3000000);
	return NULL;
}

/* A thread's work before its first call counts. */
static void test_threads(void)
{
	uint64_t began, before = gpuemu_host_ns();
	pthread_t t;

	TRUE(pthread_create(&t, NULL, thread, &began) == 0);
	TRUE(pthread_join(t, NULL) == 0);
	TRUE(began >= before);
	TRUE(gpuemu_host_ns() >= began + 2900000);
}

static void child_is_at(uint64_t from)
{
	uint64_t now = gpuemu_host_ns();

	if (now >= from && now < from + FAR)
		_exit(0);
	fprintf(stderr, "a child is at %" PRIu64 " and its parent at %" PRIu64 "\n", now, from);
	_exit(1);
}

static void check_exit_status(pid_t pid)
{
	int status;

	TRUE(pid > 0 && waitpid(pid, &status, 0) == pid);
	TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Each way starts later than any child of the way before could. */
static void test_children(const char *self)
{
	char text[32], command[4200];
	char *const argv[] = {(char *)(uintptr_t)self, text, NULL};
	pid_t pid;

	gpuemu_thread_not_before((int64_t)(2 * FAR));
	pid = fork();
	if (pid == 0)
		child_is_at(2 * FAR);
	check_exit_status(pid);

	gpuemu_thread_not_before((int64_t)(4 * FAR));
	snprintf(text, sizeof(text), "%llu", 4 * FAR);
	pid = fork();
	if (pid == 0) {
		execv(self, argv);
		_exit(2);
	}
	check_exit_status(pid);

	gpuemu_thread_not_before((int64_t)(6 * FAR));
	snprintf(text, sizeof(text), "%llu", 6 * FAR);
	TRUE(posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0);
	check_exit_status(pid);

	gpuemu_thread_not_before((int64_t)(8 * FAR));
	snprintf(text, sizeof(text), "%llu", 8 * FAR);
	pid = vfork();
	if (pid == 0) {
		execv(self, argv);
		_exit(2);
	}
	check_exit_status(pid);

	/* Through a shell, which never calls the driver. */
	gpuemu_thread_not_before((int64_t)(10 * FAR));
	snprintf(command, sizeof(command), "true; (true; '%s' %llu); exit $?", self, 10 * FAR);
	TRUE(system(command) == 0);
}

int main(int argc, char **argv)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	TRUE(n > 0);
	self[n] = 0;
	if (argc > 1)
		child_is_at(strtoull(argv[1], NULL, 10));
	TRUE(gpuemu_host_ns() < FAR);
	OK(cuInit(0));
	own_work_counts();
	work_aside_does_not();
	test_threads();
	test_children(self);
	return 0;
}
