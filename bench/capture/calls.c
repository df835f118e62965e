/* SPDX-License-Identifier: Apache-2.0 */

/* calls empty|launch|event THREADS CALLS [BATCH [lttng]]: measures calls of a driver that does
 * nothing, in nanoseconds; "event": a launch and an event recorded after it. Prints "MEDIAN P99.9"
 * over all threads. The counter is read around each BATCH calls (default 1): around a single call
 * its resolution and the cost of reading it count, the mean of many calls avoids both. With lttng a
 * tracepoint of the size of our record follows each call. bench/capture/run.py runs this program
 * with and without recorders. */
#include "base/host.h"
#include "bench/capture/driver.h"

#ifdef HAVE_LTTNG
#endif

#include "base/array.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 64

static int is_launch, with_lttng;
static struct event *event; /* recorded after each launch, or NULL */
static size_t n_samples, batch = 1;

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
	if (event)
		cuEventRecord(event, NULL);
	if (with_lttng)
		trace(start, id);
}

/* Lets the recorder read the records of earlier calls, then warms the caches. */
static void prepare_recorder(void)
{
	static const struct timespec nap = {0, 300000};

	nanosleep(&nap, NULL);
	for (size_t i = 0; i < batch / 10; i++)
		call(i);
}

static void measure(uint32_t *samples)
{
	for (size_t i = 0; i < n_samples; i++) {
		uint64_t before, took;

		if (batch > 1)
			prepare_recorder();
		before = ticks();
		for (size_t k = 0; k < batch; k++)
			call(k);
		took = ticks() - before;
		samples[i] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
	}
}

/* Measures one thread. First makes twice as many calls, so that the recorder allocates all memory
 * for that many calls and operations and touches the thread's whole ring, and lets it read them. */
static void *run_calls(void *samples)
{
	static const struct timespec nap = {0, 100000000};

	for (int i = 0; i < 2; i++)
		measure(samples);
	nanosleep(&nap, NULL);
	measure(samples);
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
	is_launch = strcmp(argv[1], "empty") != 0;
	batch = argc > 4 ? strtoul(argv[4], NULL, 10) : batch;
	with_lttng = argc > 5 && strcmp(argv[5], "lttng") == 0;
	n_samples = batch > 0 ? strtoul(argv[3], NULL, 10) / batch : 0;
	samples = calloc(n * n_samples, sizeof(*samples));
	if (n_samples < 1 || !samples || cuInit(0) ||
	    (strcmp(argv[1], "event") == 0 && cuEventCreate(&event, 0)))
		return 1;
	memset(samples, 1, n * n_samples * sizeof(*samples));
	began_ns = host_clock_ns(CLOCK_MONOTONIC);
	began = ticks();
	for (size_t i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run_calls, samples + i * n_samples);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	per_ns = (double)(ticks() - began) / (double)(host_clock_ns(CLOCK_MONOTONIC) - began_ns);
	per_ns *= (double)batch;
	qsort(samples, n * n_samples, sizeof(*samples), by_value);
	printf("%.1f %.1f\n", samples[n * n_samples / 2] / per_ns,
	       samples[n * n_samples * 999 / 1000] / per_ns);
	free(samples);
	return 0;
}
