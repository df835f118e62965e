/* SPDX-License-Identifier: Apache-2.0 */

/* calls empty|launch THREADS CALLS [lttng]: nanoseconds of each call of a driver that does nothing:
 * prints "MEDIAN P99.9" over all threads. With lttng a tracepoint of the size of our record follows
 * each call. bench/capture/run.py runs it bare and under recorders.
 */
#include "base/host.h"
#include "bench/capture/driver.h"

#ifdef HAVE_LTTNG
#include "bench/capture/event.h"
#endif

#include "base/array.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 64

static int is_launch, with_lttng;
static size_t n_calls;

static inline uint64_t ticks(void)
{
#ifdef __x86_64__
	unsigned aux;

	return __builtin_ia32_rdtscp(&aux);
#else
	return (uint64_t)host_clock_ns(CLOCK_MONOTONIC);
#endif
}

static void trace(uint64_t start, uint64_t id)
{
#ifdef HAVE_LTTNG
	if (with_lttng && is_launch)
		tracepoint(gpureplay_bench, launch, id, start, ticks());
	else if (with_lttng)
		tracepoint(gpureplay_bench, empty, id, start, ticks());
#endif
}

static void call(uint64_t id)
{
	uint64_t start = with_lttng ? ticks() : 0;
	int a = 1;
	float b = 2;
	uint64_t c = 3, d = 4;
	void *args[] = {&a, &b, &c, &d};
	unsigned flags;

	if (is_launch)
		cuLaunchKernel((void *)4096, 128, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
	else
		cuCtxGetFlags(&flags);
	if (with_lttng)
		trace(start, id);
}

/* The first thousand calls are for the caches. */
static void *run(void *samples)
{
	uint32_t *to = samples;

	for (size_t i = 0; i < 1000; i++)
		call(i);
	for (size_t i = 0; i < n_calls; i++) {
		uint64_t before = ticks(), took;

		call(i);
		took = ticks() - before;
		to[i] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
	}
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return array_order(x, y);
}

int main(int argc, char **argv)
{
	size_t n = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	pthread_t threads[MOST_THREADS];
	uint32_t *samples;
	int64_t began_ns;
	uint64_t began;
	double per_ns;

	if (n < 1 || n > MOST_THREADS)
		return 2;
	is_launch = strcmp(argv[1], "launch") == 0;
	with_lttng = argc > 4 && strcmp(argv[4], "lttng") == 0;
	n_calls = strtoul(argv[3], NULL, 10);
	samples = calloc(n * n_calls, sizeof(*samples));
	if (!samples || cuInit(0))
		return 1;
	memset(samples, 1, n * n_calls * sizeof(*samples));
	began_ns = host_clock_ns(CLOCK_MONOTONIC);
	began = ticks();
	for (size_t i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, samples + i * n_calls);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	per_ns = (double)(ticks() - began) / (double)(host_clock_ns(CLOCK_MONOTONIC) - began_ns);
	qsort(samples, n * n_calls, sizeof(*samples), by_value);
	printf("%.1f %.1f\n", samples[n * n_calls / 2] / per_ns,
	       samples[n * n_calls / 1000 * 999] / per_ns);
	free(samples);
	return 0;
}
