/* SPDX-License-Identifier: Apache-2.0 */

/* Measures all-reduce, and a ring of sends, as nccl-tests does: by the host's clock, around
 * operations and a synchronisation. The bandwidth is that of the model, with a thread or a process
 * for each rank, in place or not, whatever the host needs to move the data. For buffers that were
 * never written, the host needs less time than the emulated GPUs. An all-to-all takes the same time
 * as sends to all ranks, because a rank's own part uses no link. The times are those of the model,
 * which include the gap between two operations. With $NCCL_ALGO, they are those of a ring.
 *
 *     emugpu_bandwidth threads|processes RANKS
 */
#include "replay/cost/gpu.h"
#include "replay/cost/nccl.h"
#include "tests/emugpu/check_driver.h"

#include <math.h>
#include <nccl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUT_OF_PLACE, IN_PLACE, RING, TO_ALL, SENDS, LARGE, SMALL, KINDS };
enum { MOST = 8 };
static const int repeats[KINDS] = {10, 10, 10, 200, 200, 10, 200};
static const size_t bytes = 16 << 20, large_bytes = (size_t)2 << 30, small_bytes = 64 << 10;

struct rank {
	int rank, n;
	ncclUniqueId id;
	double host_s[KINDS], device_s[KINDS]; /* of one operation */
	double cpu_s[KINDS];		       /* of the process */
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void run_one(int kind, const struct rank *r, ncclComm_t comm, CUdeviceptr in,
		    CUdeviceptr out, CUstream stream)
{
	const size_t part = bytes / (size_t)r->n;

	if (kind == TO_ALL) {
		NCCL(ncclAlltoAll((void *)in, (void *)out, part, ncclChar, comm, stream));
		return;
	}
	if (kind != RING && kind != SENDS) {
		size_t n = kind == LARGE ? large_bytes : kind == SMALL ? small_bytes : bytes;

		NCCL(ncclAllReduce((void *)in, (void *)(kind == IN_PLACE ? in : out), n / 4,
				   ncclFloat, ncclSum, comm, stream));
		return;
	}
	NCCL(ncclGroupStart());
	if (kind == RING) {
		int next = (r->rank + 1) % r->n, last = (r->rank + r->n - 1) % r->n;

		NCCL(ncclSend((void *)in, bytes, ncclChar, next, comm, stream));
		NCCL(ncclRecv((void *)out, bytes, ncclChar, last, comm, stream));
	}
	for (int i = 0; kind == SENDS && i < r->n; i++) {
		size_t at = (size_t)i * part;

		NCCL(ncclSend((void *)(in + at), part, ncclChar, i, comm, stream));
		NCCL(ncclRecv((void *)(out + at), part, ncclChar, i, comm, stream));
	}
	NCCL(ncclGroupEnd());
}

static void measure(struct rank *r, int kind, ncclComm_t comm, CUdeviceptr in, CUdeviceptr out,
		    CUstream stream)
{
	CUevent from, to;
	float ms;

	OK(cuEventCreate(&from, 0));
	OK(cuEventCreate(&to, 0));
	run_one(kind, r, comm, in, out, stream);
	OK(cuStreamSynchronize(stream));
	double begun = now_s(), cpu = cpu_s();

	OK(cuEventRecord(from, stream));
	for (int i = 0; i < repeats[kind]; i++)
		run_one(kind, r, comm, in, out, stream);
	OK(cuEventRecord(to, stream));
	while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
		;
	r->host_s[kind] = (now_s() - begun) / repeats[kind];
	r->cpu_s[kind] = (cpu_s() - cpu) / repeats[kind];
	OK(cuEventElapsedTime(&ms, from, to));
	r->device_s[kind] = 1e-3 * ms / repeats[kind];
}

static void *run(void *arg)
{
	struct rank *r = arg;
	CUdeviceptr in, out;
	CUstream stream;
	ncclComm_t comm;

	use_device(r->rank);
	NCCL(ncclCommInitRank(&comm, r->n, r->id, r->rank));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&in, large_bytes));
	OK(cuMemAlloc(&out, large_bytes));
	for (int kind = 0; kind < KINDS; kind++)
		measure(r, kind, comm, in, out, stream);
	NCCL(ncclCommDestroy(comm));
	return NULL;
}

static double model_s(uint32_t ranks, size_t n)
{
	const char *ring = getenv("NCCL_ALGO");
	struct cost_gpu g;
	char why[400];

	TRUE(cost_gpu_load("H100", &g, why, sizeof(why)) == 0);
	return 1e-9 *
	       (double)cost_collective_ns(
		       &(struct cost_links){.ranks = ranks,
					    .hosts = 1,
					    .wire = COST_NVLINK,
					    .bytes_per_s = g.nvlink_bytes_per_s * g.link_efficiency,
					    .compute_capability = 90,
					    .switch_bytes_per_s = ring ? 0 : g.switch_bytes_per_s,
					    .excluded = ring ? 1u << COST_TREE : 0},
		       COST_ALL_REDUCE, (double)n);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 2, status;
	struct rank *ranks = mmap(NULL, MOST * sizeof(*ranks), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t threads[MOST];
	ncclUniqueId id;

	TRUE(argc > 2 && n <= MOST && ranks != MAP_FAILED);
	NCCL(ncclGetUniqueId(&id));
	for (int i = 0; i < n; i++) {
		ranks[i] = (struct rank){.rank = i, .n = n, .id = id};
		if (strcmp(argv[1], "threads") == 0) {
			TRUE(pthread_create(&threads[i], NULL, run, &ranks[i]) == 0);
		} else if (fork() == 0) {
			run(&ranks[i]);
			exit(0);
		}
	}
	for (int i = 0; i < n; i++)
		if (strcmp(argv[1], "threads") == 0)
			pthread_join(threads[i], NULL);
		else
			TRUE(wait(&status) > 0 && status == 0);
	for (int kind = 0; kind < KINDS; kind++) {
		static const char *const names[] = {
			"all-reduce",	"all-reduce in place", "send and receive",    "all-to-all",
			"sends to all", "all-reduce of 2 GiB", "all-reduce of 64 KiB"};
		const struct rank *r = &ranks[0];

		printf("%s %.1f us by the clock, %.1f us by events, %.1f us of CPU time\n",
		       names[kind], 1e6 * r->host_s[kind], 1e6 * r->device_s[kind],
		       1e6 * r->cpu_s[kind]);
		TRUE(fabs(r->host_s[kind] / r->device_s[kind] - 1) < 0.15);
		TRUE(kind == LARGE ? r->cpu_s[kind] < r->host_s[kind] / 2
				   : r->device_s[kind] < 1e-3);
	}
	TRUE(fabs(ranks[0].device_s[SENDS] / ranks[0].device_s[TO_ALL] - 1) < 0.05);
	TRUE(fabs(ranks[0].device_s[LARGE] / model_s((uint32_t)n, large_bytes) - 1) < 0.01);
	TRUE(fabs(ranks[0].device_s[SMALL] / model_s((uint32_t)n, small_bytes) - 1) < 0.04);
	return 0;
}
