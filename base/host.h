/* SPDX-License-Identifier: Apache-2.0 */

/* Clocks, processors, threads and processes of the system. Any number of threads at once. */
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Returns the time of a clock of clock_gettime(). */
static inline int64_t host_clock_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns the number of processors that this process may use, at least 1. */
static inline unsigned host_n_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

/* Starts a thread with all signals blocked, so that only the program's own threads get them.
 * Returns 0 or a negative errno. */
static inline int host_thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r = pthread_create(ret, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

/* Returns the number in field `field` (from 4) of /proc/PID/stat; 0: no such process, or a
 * zombie. */
static inline uint64_t host_process_field(uint64_t pid, int field)
{
	char path[40], text[1024];
	ssize_t n = -1;
	char *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n < 0 ? 0 : n] = 0;
	at = strrchr(text, ')'); /* the second field may hold anything else */
	if (!at || strncmp(at, ") Z", 3) == 0 || strncmp(at, ") X", 3) == 0)
		return 0;
	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static inline uint64_t host_process_parent(uint64_t pid)
{
	return host_process_field(pid, 4);
}

/* Returns the start time of a process in clock ticks since boot. With the process id it identifies
 * a process, because the kernel reuses ids. */
static inline uint64_t host_process_started(uint64_t pid)
{
	return host_process_field(pid, 22);
}
