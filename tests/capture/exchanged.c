/* SPDX-License-Identifier: Apache-2.0 */

/* exchanged [nonblocking]: broadcasts between two GPUs, one after another, each of which overwrites
 * a buffer that the one before wrote or read. "nonblocking": with non-blocking communicators.
 * Prints the expected digests, in any order of threads: "want LENGTH DIGEST". */
#include "capture/digest/gd128.h"
#include "tests/emugpu/check_driver.h"

#include <inttypes.h>
#include <nccl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 100000

static unsigned char contents[2][BYTES];

struct rank {
	int rank, blocking;
	ncclUniqueId id;
	ncclComm_t comm;
	CUstream stream;
	char *wanted;
	size_t wanted_bytes;
	FILE *wants; /* writes to `wanted` */
};

static void print_wanted(const struct rank *r, const unsigned char *data)
{
	struct gd128 d = gd128_of(data, BYTES);

	fprintf(r->wants, "want %d %016" PRIx64 "%016" PRIx64 "\n", BYTES, d.lo, d.hi);
}

/* Allocates device memory that contains these bytes. */
static CUdeviceptr copy_to_device(const struct rank *r, const unsigned char *data)
{
	CUdeviceptr at;

	OK(cuMemAlloc(&at, BYTES));
	OK(cuMemcpyHtoD(at, data, BYTES));
	print_wanted(r, data);
	return at;
}

/* GPU 0 has `data` at `from`; afterwards both GPUs have it at `to`. */
static void broadcast(const struct rank *r, CUdeviceptr from, CUdeviceptr to,
		      const unsigned char *data)
{
	NCCL(ncclBroadcast((void *)from, (void *)to, BYTES, ncclChar, 0, r->comm,
			   (cudaStream_t)r->stream));
	if (r->rank == 0)
		print_wanted(r, data);
	print_wanted(r, data);
}

static void exchange(const struct rank *r)
{
	CUdeviceptr a = copy_to_device(r, contents[0]), b = copy_to_device(r, contents[1]), to;

	OK(cuMemAlloc(&to, BYTES));
	broadcast(r, a, to, contents[0]);
	broadcast(r, b, to, contents[1]);
	broadcast(r, a, b, contents[0]);
	OK(cuStreamSynchronize(r->stream));
	OK(cuMemcpyHtoD(b, contents[1], BYTES));
	print_wanted(r, contents[1]);

	NCCL(ncclGroupStart());
	broadcast(r, a, to, contents[0]);
	NCCL(ncclGroupEnd());
	NCCL(ncclGroupStart());
	broadcast(r, b, to, contents[1]);
	broadcast(r, a, a, contents[0]);
	NCCL(ncclGroupEnd());
	OK(cuStreamSynchronize(r->stream));
}

static void join(struct rank *r)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclResult_t said;

	config.blocking = r->blocking;
	said = ncclCommInitRankConfig(&r->comm, 2, r->id, r->rank, &config);
	TRUE(said == (r->blocking ? ncclSuccess : ncclInProgress));
	while (said == ncclInProgress)
		NCCL(ncclCommGetAsyncError(r->comm, &said));
	NCCL(said);
}

static void *run_rank(void *rank)
{
	struct rank *r = rank;
	CUcontext context;

	OK(cuDevicePrimaryCtxRetain(&context, r->rank));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
	join(r);
	r->wants = open_memstream(&r->wanted, &r->wanted_bytes);
	TRUE(r->wants != NULL);
	exchange(r);
	fclose(r->wants);
	NCCL(ncclCommDestroy(r->comm));
	return NULL;
}

int main(int n_args, char **args)
{
	struct rank ranks[2] = {{.rank = 0}, {.rank = 1}};
	pthread_t other;

	for (int i = 0; i < BYTES; i++) {
		contents[0][i] = (unsigned char)(i * 7);
		contents[1][i] = (unsigned char)(i * 13 + 1);
	}
	OK(cuInit(0));
	NCCL(ncclGetUniqueId(&ranks[0].id));
	ranks[1].id = ranks[0].id;
	ranks[0].blocking = ranks[1].blocking = n_args < 2 || strcmp(args[1], "nonblocking") != 0;
	TRUE(pthread_create(&other, NULL, run_rank, &ranks[1]) == 0);
	run_rank(&ranks[0]);
	pthread_join(other, NULL);
	for (int i = 0; i < 2; i++) {
		fputs(ranks[i].wanted, stdout);
		free(ranks[i].wanted);
	}
	return 0;
}
