/* SPDX-License-Identifier: Apache-2.0 */

/* The clocks that a program reads are virtual: sleeps and time-outs advance them by their length,
 * waiting for a GPU by the modelled time, and the emulator's own work not at all. */
#include "tests/emugpu/check_driver.h"
#include <gpuemu.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)

static int64_t ns_of(clockid_t clock)
{
	struct timespec t;

	TRUE(clock_gettime(clock, &t) == 0);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static int64_t now(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

static struct timespec after(clockid_t clock, int64_t ns)
{
	int64_t t = ns_of(clock) + ns;

	return (struct timespec){t / (1000 * MS), t % (1000 * MS)};
}

static void sleep_20ms(void)
{
	usleep(20000);
}

static void nanosleep_20ms(void)
{
	struct timespec t = {0, 20 * MS};

	TRUE(nanosleep(&t, NULL) == 0);
}

static void sleep_until(void)
{
	struct timespec t = after(CLOCK_REALTIME, 20 * MS);

	TRUE(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL) == 0);
}

static void poll_nothing(void)
{
	TRUE(poll(NULL, 0, 20) == 0);
}

static void select_nothing(void)
{
	struct timeval t = {0, 20000};

	TRUE(select(0, NULL, NULL, NULL, &t) == 0);
}

static void epoll_nothing(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	TRUE(epoll_wait(fd, &e, 1, 20) == 0);
	close(fd);
}

static void wait_for_condition(void)
{
	static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec t = after(CLOCK_REALTIME, 20 * MS);

	pthread_mutex_lock(&m);
	TRUE(pthread_cond_timedwait(&c, &m, &t) == ETIMEDOUT);
	pthread_mutex_unlock(&m);
}

static void wait_for_semaphore(void)
{
	struct timespec t = after(CLOCK_MONOTONIC, 20 * MS);
	sem_t s;

	sem_init(&s, 0, 0);
	TRUE(sem_clockwait(&s, CLOCK_MONOTONIC, &t) < 0 && errno == ETIMEDOUT);
}

static void test_waits(void)
{
	static void (*const waits[])(void) = {sleep_20ms,	  nanosleep_20ms,    sleep_until,
					      poll_nothing,	  select_nothing,    epoll_nothing,
					      wait_for_condition, wait_for_semaphore};

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		int64_t before = now(), took;

		waits[i]();
		took = now() - before;
		if (took < 20 * MS || took > 1000 * MS) {
			fprintf(stderr, "wait %zu took %" PRId64 " ns\n", i, took);
			exit(1);
		}
	}
}

/* A thread that waits for Python's interpreter lock polls it every 5 ms. Polling takes no virtual
 * time, because on a busy host the owner of the lock may not run for longer than that. */
static void test_short_waits(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	int64_t before = now();

	pthread_mutex_lock(&m);
	for (int i = 0; i < 20; i++) {
		struct timespec t = after(CLOCK_REALTIME, 5 * MS);

		TRUE(pthread_cond_timedwait(&c, &m, &t) == ETIMEDOUT);
	}
	pthread_mutex_unlock(&m);
	TRUE(now() - before < 50 * MS);
}

/* All clocks advance alike. */
static void test_clocks(void)
{
	int64_t monotonic = now(), day = ns_of(CLOCK_REALTIME), raw = ns_of(CLOCK_MONOTONIC_RAW);
	struct timeval t;
	time_t seconds;

	sleep_20ms();
	monotonic = now() - monotonic;
	TRUE(llabs(ns_of(CLOCK_REALTIME) - day - monotonic) < 5 * MS);
	TRUE(llabs(ns_of(CLOCK_MONOTONIC_RAW) - raw - monotonic) < 5 * MS);
	day = ns_of(CLOCK_REALTIME);
	gettimeofday(&t, NULL);
	TRUE(llabs(t.tv_sec * 1000 * MS + t.tv_usec * 1000 - day) < 5 * MS);
	seconds = time(NULL);
	TRUE(llabs(seconds - day / (1000 * MS)) <= 1);
	TRUE(llabs(day / (1000 * MS) - (int64_t)1.7e9) < (int64_t)1e9); /* a date */
}

/* Takes half a second of virtual time and 50 ms of the host. */
static void run_slow(struct gpuemu_launch *launch, void *const *args)
{
	int64_t until = ns_of(CLOCK_THREAD_CPUTIME_ID) + 50 * MS;

	while (ns_of(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void cost_slow(const struct gpuemu_launch *launch, void *const *args,
		      struct gpuemu_cost *ret)
{
	ret->ns = 500 * MS;
}

static void test_gpu(void)
{
	static const struct gpuemu_kernel kernel = {
		.name = "slow", .run = run_slow, .cost = cost_slow};
	int64_t before, took;
	CUevent from, to;
	CUfunction f;
	float ms;

	gpuemu_register(&kernel);
	use_device(0);
	f = load_kernel(PTX(ENTRY("slow()")), "slow");
	OK(cuEventCreate(&from, 0));
	OK(cuEventCreate(&to, 0));
	OK(cuEventRecord(from, NULL));
	before = now();
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	TRUE(now() - before < 40 * MS); /* the launch returns at once */
	OK(cuEventRecord(to, NULL));
	OK(cuCtxSynchronize());
	took = now() - before;
	OK(cuEventElapsedTime(&ms, from, to));
	TRUE(ms > 499 && ms < 520);
	TRUE(took > 499 * MS && took < 540 * MS);
}

static void *read_clock(void *ret)
{
	*(int64_t *)ret = now();
	return NULL;
}

/* Threads and processes start at the clock of their creator. */
static void test_others(void)
{
	int64_t before = now(), seen = 0;
	pthread_t thread;
	int status;
	pid_t pid;

	TRUE(pthread_create(&thread, NULL, read_clock, &seen) == 0);
	pthread_join(thread, NULL);
	TRUE(seen >= before && seen - before < 100 * MS);
	before = now();
	pid = fork();
	if (pid == 0)
		_exit(now() < before || now() - before > 100 * MS);
	TRUE(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	before = now();
	pid = fork();
	if (pid == 0) {
		execlp("sleep", "sleep", "0.1", NULL);
		_exit(2);
	}
	TRUE(waitpid(pid, &status, 0) == pid && status == 0);
	TRUE(now() - before > 99 * MS);
}

static int64_t real_now(void)
{
	struct timespec t;

	TRUE(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t) == 0);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* With --pace, a sleep is no longer than on a real machine, even if nothing else runs. */
static void test_paced(void)
{
	int64_t least = INT64_MAX;

	use_device(0);
	for (int i = 0; i < 5; i++) {
		struct timespec t = {0, 100 * MS};
		int64_t before = now(), real_before = real_now(), took;

		TRUE(nanosleep(&t, NULL) == 0);
		took = real_now() - real_before;
		TRUE(now() - before >= 100 * MS);
		least = took < least ? took : least;
	}
	TRUE(least >= 100 * MS && least < 130 * MS);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "paced") == 0) {
		test_paced();
		return 0;
	}
	test_clocks();
	test_waits();
	test_short_waits();
	test_gpu();
	test_clocks();
	test_others();
	return 0;
}
