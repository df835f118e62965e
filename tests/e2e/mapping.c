/* SPDX-License-Identifier: Apache-2.0 */

/* Preloaded: delays the allocation of memory for the recorder's rings, and ends the program if its
 * emulated clock advances meanwhile. At exit, reports how many allocations were checked. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define SLOW_NS 2000000

/* Exported by an emulated driver. */
extern uint64_t gpuemu_host_ns(void) __attribute__((weak));

static unsigned n_checked;

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void take_time(void)
{
	uint64_t before;

	if (!gpuemu_host_ns)
		return;
	before = gpuemu_host_ns();
	for (int64_t from = cpu_ns(); cpu_ns() - from < SLOW_NS;)
		;
	if (gpuemu_host_ns() != before)
		abort();
	__atomic_fetch_add(&n_checked, 1, __ATOMIC_RELAXED);
}

EXPORT int posix_fallocate(int fd, off_t from, off_t bytes)
{
	int (*next)(int, off_t, off_t) =
		(int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");

	take_time();
	return next(fd, from, bytes);
}

EXPORT int madvise(void *at, size_t bytes, int advice)
{
	int (*next)(void *, size_t, int) =
		(int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");

	if (advice == MADV_POPULATE_WRITE)
		take_time();
	return next(at, bytes, advice);
}

__attribute__((destructor)) static void say(void)
{
	if (n_checked)
		fprintf(stderr, "checked %u times\n", n_checked);
}
