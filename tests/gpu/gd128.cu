/* SPDX-License-Identifier: Apache-2.0 */

/* gd128 check: compares the digests of the kernel and of the CPU for many lengths and alignments.
 * gd128 rate MB...: prints for each size "BYTES DIGEST_NS COPY_NS": the fastest of several digests,
 * and of several copies of the same size within the device. The kernel is launched as in
 * capture/library/digests/batch.c. */
#include "capture/digest/gd128.cu"

extern "C" {
#include "capture/digest/gd128.h"
}
#include <gpuemu.h>

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 10
#define OK(call)                                                                                   \
	do {                                                                                       \
		cudaError_t got_ = (call);                                                         \
		if (got_ != cudaSuccess) {                                                         \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(got_));              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void sum_host(struct gd128_work work)
{
	for (uint32_t i = 0; i < work.n_parts; i++) {
		const struct gd128_part *p = &work.parts[i];
		struct gd128 *sums = (struct gd128 *)p->pages_at;

		memset(sums, 0, gd128_pages(p->bytes) * sizeof(*sums));
		gd128_add(sums, 0, (const void *)p->address, p->bytes);
	}
}
GPUEMU_HOST_KERNEL(gd128_sum, sum_host)

static struct gd128 *sums; /* in page-locked memory */
static unsigned blocks;

static void launch(const void *at, uint64_t bytes)
{
	struct gd128_work work = {
		gd128_pages(bytes), 1, 0, {{(uint64_t)at, bytes, (uint64_t)sums, 0}}};
	unsigned most = work.n_pages < blocks ? (unsigned)work.n_pages : blocks;

	gd128_sum<<<most, GD128_THREADS>>>(work);
	OK(cudaGetLastError());
}

static int check_digests(void)
{
	static const uint64_t lengths[] = {1, 15, 16, 17, 65535, 65536, 65537, 200000, 1000003};
	static unsigned char host[1 << 20];
	unsigned char *device;
	int wrong = 0;

	for (size_t i = 0; i < sizeof(host); i++)
		host[i] = (unsigned char)(i * 2654435761u >> 13);
	OK(cudaMalloc(&device, sizeof(host)));
	OK(cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice));
	for (uint64_t length : lengths)
		for (uint64_t offset = 0; offset < 17; offset++) {
			struct gd128 want = gd128_of(host + offset, length), got;

			launch(device + offset, length);
			OK(cudaDeviceSynchronize());
			got = gd128_fold(sums, length);
			wrong += got.lo != want.lo || got.hi != want.hi;
		}
	printf("%d of %zu differ\n", wrong, 17 * sizeof(lengths) / sizeof(lengths[0]));
	return wrong != 0;
}

/* Returns the shortest of several runs, in ns. */
template <typename F> static double shortest_ns(F &&work)
{
	cudaEvent_t from, to;
	float ms, least = 1e30f;

	OK(cudaEventCreate(&from));
	OK(cudaEventCreate(&to));
	for (int i = 0; i < TRIES; i++) {
		OK(cudaEventRecord(from));
		work();
		OK(cudaEventRecord(to));
		OK(cudaEventSynchronize(to));
		OK(cudaEventElapsedTime(&ms, from, to));
		least = ms < least ? ms : least;
	}
	return least * 1e6;
}

static int rate(uint64_t bytes)
{
	unsigned char *a, *b;

	OK(cudaMalloc(&a, bytes));
	OK(cudaMalloc(&b, bytes));
	OK(cudaMemset(a, 1, bytes));
	double digest = shortest_ns([&] { launch(a, bytes); });
	double copy = shortest_ns(
		[&] { OK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice)); });

	printf("%llu %.0f %.0f\n", (unsigned long long)bytes, digest, copy);
	OK(cudaFree(a));
	OK(cudaFree(b));
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t most = 1 << 20;
	int processors;

	for (int i = 2; i < argc; i++)
		most = strtoull(argv[i], NULL, 10) << 20 > most ? strtoull(argv[i], NULL, 10) << 20
								: most;
	OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
	blocks = 2 * (unsigned)processors;
	OK(cudaHostAlloc(&sums, gd128_pages(most) * sizeof(*sums), cudaHostAllocMapped));
	if (argc == 2 && strcmp(argv[1], "check") == 0)
		return check_digests();
	for (int i = 2; i < argc; i++)
		rate(strtoull(argv[i], NULL, 10) << 20);
	return argc < 3 ? 2 : 0;
}
