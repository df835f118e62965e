/* SPDX-License-Identifier: Apache-2.0 */

/* ranks FOLDER [ipc|split]: one rank of RANK and WORLD_SIZE, started as by torchrun. Makes every
 * kind of exchange on one stream, and one on a second stream, without kernels of its own; rank 0
 * leaves the unique id in FOLDER. Prints a sum of what it holds at the end. With `ipc`, it also
 * reads memory of rank 0 directly; with `split`, it uses non-blocking communicators, one of them
 * split from the other. */
#include "tests/emugpu/check_driver.h"

#include <nccl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT 1000
#define BYTES (COUNT * sizeof(float))

static int number(const char *name)
{
	const char *value = getenv(name);

	TRUE(value != NULL);
	return atoi(value);
}

/* Sends data of rank 0 to the other ranks through a file. */
static void share(const char *folder, const char *name, int rank, void *at, size_t bytes)
{
	char path[256], made[300];
	FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(made, sizeof(made), "%s.new", path);
	if (rank == 0) {
		f = fopen(made, "w");
		TRUE(f && fwrite(at, bytes, 1, f) == 1 && fclose(f) == 0);
		TRUE(rename(made, path) == 0);
		return;
	}
	while (!(f = fopen(path, "r")))
		usleep(1000);
	TRUE(fread(at, bytes, 1, f) == 1);
	fclose(f);
}

/* All other ranks read memory of rank 0. */
static void read_first(const char *folder, int rank, CUdeviceptr memory, CUdeviceptr to)
{
	CUipcMemHandle handle;

	if (rank == 0)
		OK(cuIpcGetMemHandle(&handle, memory));
	share(folder, "handle", rank, &handle, sizeof(handle));
	if (rank == 0)
		return;
	OK(cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	OK(cuMemcpyDtoD(to, memory, BYTES));
	OK(cuIpcCloseMemHandle(memory));
}

/* On a stream without other operations. */
static void reduce_beside(ncclComm_t comm, CUstream s, CUstream beside, CUevent event, float *y)
{
	OK(cuEventRecord(event, s));
	OK(cuStreamWaitEvent(beside, event, 0));
	NCCL(ncclAllReduce(y, y, COUNT, ncclFloat, ncclMin, comm, beside));
	OK(cuEventRecord(event, beside));
	OK(cuStreamWaitEvent(s, event, 0));
}

static void wait_for_comm(ncclComm_t comm)
{
	ncclResult_t state = ncclInProgress;

	while (state == ncclInProgress)
		NCCL(ncclCommGetAsyncError(comm, &state));
	NCCL(state);
}

/* Creates a communicator by `id`, and returns one that is split from it. */
static ncclComm_t split(const ncclUniqueId *id, int rank, int n)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t comm, part;

	config.blocking = 0;
	TRUE(ncclCommInitRankConfig(&comm, n, *id, rank, &config) == ncclInProgress);
	wait_for_comm(comm);
	TRUE(ncclCommSplit(comm, 0, rank, &part, &config) == ncclInProgress);
	wait_for_comm(comm);
	wait_for_comm(part);
	return part;
}

static void exchange(ncclComm_t comm, CUstream s, int rank, int n, float *x, float *y, float *all)
{
	int next = (rank + 1) % n, last = (rank + n - 1) % n;

	/* An in-place all-reduce after a memset on the same stream. */
	OK(cuMemsetD32Async((CUdeviceptr)x, 0x3f800000u + (unsigned)rank * 4096, COUNT, s));
	NCCL(ncclAllReduce(x, x, COUNT, ncclFloat, ncclSum, comm, s));
	OK(cuMemcpyDtoDAsync((CUdeviceptr)y, (CUdeviceptr)x, BYTES, s));
	NCCL(ncclReduce(x, x, COUNT, ncclFloat, ncclSum, n - 1, comm, s));
	NCCL(ncclBroadcast(x, x, COUNT, ncclFloat, n - 1, comm, s));
	/* The data arrives when the outer group has ended, in the middle of the buffer. */
	NCCL(ncclGroupStart());
	NCCL(ncclSend(x, COUNT / 2, ncclFloat, next, comm, s));
	NCCL(ncclGroupStart());
	NCCL(ncclRecv(y + COUNT / 4, COUNT / 2, ncclFloat, last, comm, s));
	NCCL(ncclGroupEnd());
	OK(cuMemsetD32Async((CUdeviceptr)y, 0, COUNT, s));
	NCCL(ncclGroupEnd());
	NCCL(ncclAllGather(y, all, COUNT, ncclFloat, comm, s));
	NCCL(ncclReduceScatter(all, x, COUNT, ncclFloat, ncclMax, comm, s));
	NCCL(ncclAllReduce(x, y, 0, ncclFloat, ncclSum, comm, s));
}

int main(int argc, char **argv)
{
	int rank = number("RANK"), n = number("WORLD_SIZE");
	static float held[COUNT];
	CUdeviceptr x, y, all;
	ncclUniqueId id;
	ncclComm_t comm;
	CUstream s, beside;
	CUevent event;
	double sum = 0;

	TRUE(argc >= 2);
	use_device(number("LOCAL_RANK"));
	if (rank == 0)
		NCCL(ncclGetUniqueId(&id));
	share(argv[1], "unique-id", rank, &id, sizeof(id));
	if (argc > 2 && strcmp(argv[2], "split") == 0)
		comm = split(&id, rank, n);
	else
		NCCL(ncclCommInitRank(&comm, n, id, rank));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuMemAlloc(&x, BYTES));
	OK(cuMemAlloc(&y, BYTES));
	OK(cuMemAlloc(&all, n * BYTES));
	if (argc > 2 && strcmp(argv[2], "ipc") == 0)
		read_first(argv[1], rank, x, y);
	for (int i = 0; i < 3; i++) {
		exchange(comm, s, rank, n, (float *)x, (float *)y, (float *)all);
		reduce_beside(comm, s, beside, event, (float *)y);
	}
	OK(cuMemcpyDtoHAsync(held, x, BYTES, s));
	OK(cuStreamSynchronize(s));
	for (int i = 0; i < COUNT; i++)
		sum += held[i];
	printf("%d %g\n", rank, sum);
	NCCL(ncclCommDestroy(comm));
	return 0;
}
