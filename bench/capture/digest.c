/* SPDX-License-Identifier: Apache-2.0 */

/* digest: speed of gd128 on one core in bytes a second, beside a plain sum of the words. */
#include "base/host.h"
#include "capture/digest/gd128.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define ROUNDS 7
#define LEAST_BYTES (64ull << 20) /* bytes read in a round, at least */

typedef uint64_t lanes __attribute__((vector_size(16), may_alias));

static uint64_t sink;

static void digest(const void *data, size_t bytes)
{
	sink += gd128_of(data, bytes).lo;
}

static void sum_words(const void *data, size_t bytes)
{
	const lanes *v = data;
	lanes sum[4] = {{0}};

	for (size_t i = 0; i < bytes / sizeof(*v); i += 4)
		for (unsigned k = 0; k < 4; k++)
			sum[k] += v[i + k];
	sum[0] += sum[1] + sum[2] + sum[3];
	sink += sum[0][0] + sum[0][1];
}

static double now_s(void)
{
	return (double)host_clock_ns(CLOCK_MONOTONIC) / 1e9;
}

static double bytes_per_s(void (*work)(const void *, size_t), const void *data, size_t bytes)
{
	size_t times = bytes < LEAST_BYTES ? LEAST_BYTES / bytes : 1;
	double before = now_s();

	for (size_t i = 0; i < times; i++)
		work(data, bytes);
	return (double)(bytes * times) / (now_s() - before);
}

static int measure(size_t bytes)
{
	void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double best[2] = {0, 0};

	if (data == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	madvise(data, bytes, MADV_HUGEPAGE);
	memset(data, 1, bytes);
	for (int i = 0; i < ROUNDS; i++) {
		double r[2] = {bytes_per_s(digest, data, bytes),
			       bytes_per_s(sum_words, data, bytes)};

		for (int k = 0; k < 2; k++)
			best[k] = r[k] > best[k] ? r[k] : best[k];
	}
	printf("%12zu %10.1f %10.1f %8.2f\n", bytes, best[0] / 1e9, best[1] / 1e9,
	       best[0] / best[1]);
	munmap(data, bytes);
	return 0;
}

int main(void)
{
	static const size_t sizes[] = {64u << 10, 4u << 20, 512u << 20};
	int r = 0;

	printf("%12s %10s %10s %8s\n", "bytes", "gd128 GB/s", "sum GB/s", "ratio");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		r |= measure(sizes[i]);
	return sink == 1 ? 2 : r;
}
