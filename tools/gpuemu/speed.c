/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpuemu/speed.h"

#include "base/host.h"

#include <stdint.h>
#include <time.h>

/* The CPU time of run_reference() on the reference host, a core of an AMD EPYC (family 25, model
 * 17). */
#define REFERENCE_NS 10.1e6

enum { ITEMS = 1 << 15, ROUNDS = 1 << 21 };

/* Resembles an interpreter: dependent loads in a table of 256 KiB, and data-dependent branches. */
static uint64_t run_reference(void)
{
	static uint64_t table[ITEMS];
	uint64_t x = 88172645463325252, sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t *item = &table[(x + sum) % ITEMS];

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (*item % 3 == 0)
			sum += *item + x % 16;
		else
			sum ^= x;
		*item = sum;
	}
	return sum;
}

double gpuemu_host_speed(void)
{
	static volatile uint64_t result; /* prevents the work from being optimised away */
	int64_t begin_ns = host_clock_ns(CLOCK_MONOTONIC), shortest_ns = INT64_MAX;

	while (host_clock_ns(CLOCK_MONOTONIC) - begin_ns < 500000000) {
		int64_t before_ns = host_clock_ns(CLOCK_THREAD_CPUTIME_ID), ns;

		result = run_reference();
		ns = host_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
		shortest_ns = ns < shortest_ns ? ns : shortest_ns;
	}
	(void)result;
	return (double)shortest_ns / REFERENCE_NS;
}
