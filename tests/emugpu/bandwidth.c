/* SPDX-License-Identifier: Apache-2.0 */

/* Measures all-reduce, and a ring of sends, as nccl-tests does: by the host's clock, around
 * operations and a synchronisation. The bandwidth is that of the model, with a thread or a process
 * for each rank, in place or not, whatever the host needs to move the data.
 *
 *     emugpu_bandwidth threads|processes RANKS
 */
#include "tests/emugpu/check_driver.h"

#include <math.h>
#include <nccl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8, REPEATS = 10, KINDS = 3 };
static const size_t bytes = 16 << 20;

struct rank {
	int rank, n;
	ncclUniqueId id;
	double host_s[KINDS], device_s[KINDS]; /* of one operation */
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_one(int kind, const struct rank *r, ncclComm_t comm, CUdeviceptr in,
		    CUdeviceptr out, CUstream stream)
{
	if (kind < 2) {
		NCCL(ncclAllReduce((void *)in, (void *)(kind ? in : out), bytes / 4, ncclFloat,
				   ncclSum, comm, stream));
		return;
	}
	NCCL(ncclGroupStart());
	NCCL(ncclSend((void *)in, bytes, ncclChar, (r->rank + 1) % r->n, comm, stream));
	NCCL(ncclRecv((void *)out, bytes, ncclChar, (r->rank + r->n - 1) % r->n, comm, stream));
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
	double begun = now_s();

	OK(cuEventRecord(from, stream));
	for (int i = 0; i < REPEATS; i++)
		run_one(kind, r, comm, in, out, stream);
	OK(cuEventRecord(to, stream));
	while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
		;
	r->host_s[kind] = (now_s() - begun) / REPEATS;
	OK(cuEventElapsedTime(&ms, from, to));
	r->device_s[kind] = 1e-3 * ms / REPEATS;
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
	OK(cuMemAlloc(&in, bytes));
	OK(cuMemAlloc(&out, bytes));
	for (int kind = 0; kind < KINDS; kind++)
		measure(r, kind, comm, in, out, stream);
	NCCL(ncclCommDestroy(comm));
	return NULL;
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
		printf("%s %.1f us by the clock, %.1f us by events\n",
		       kind == 2 ? "send and receive"
		       : kind	 ? "all-reduce in place"
				 : "all-reduce",
		       1e6 * ranks[0].host_s[kind], 1e6 * ranks[0].device_s[kind]);
		TRUE(fabs(ranks[0].host_s[kind] / ranks[0].device_s[kind] - 1) < 0.15);
		TRUE(ranks[0].device_s[kind] < 1e-3);
	}
	return 0;
}
