/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/nccl/launch.h"

#include "base/array.h"

/* A kernel to launch at the end of the group. */
struct queued {
	CUstream stream;
	struct emu_nccl_work work;
	struct emu_message *transfers; /* of SEND_RECV, growing */
	size_t cap;
};

/* The calls of a thread since ncclGroupStart. */
struct group {
	int depth;
	ncclResult_t error; /* the first error */
	struct queued *queue;
	size_t n, cap;
	ncclComm_t *joining;
	size_t n_joining, joining_cap;
};

static __thread struct group group __attribute__((tls_model("initial-exec")));

int emu_group_joining(ncclComm_t comm)
{
	if (group.depth == 0)
		return 0;
	if (comm && array_reserve(&group.joining, group.n_joining + 1, &group.joining_cap) == 0)
		group.joining[group.n_joining++] = comm;
	return 1;
}

/* Stores the transfers in the kernel's parameter, or on the heap if there are too many. */
static void store_transfers(struct queued *q)
{
	struct emu_nccl_work *w = &q->work;

	if (w->n_transfers <= EMU_INLINE_TRANSFERS) {
		memcpy(w->transfers, q->transfers, w->n_transfers * sizeof(*q->transfers));
		free(q->transfers);
	} else {
		w->more = q->transfers;
	}
	q->transfers = NULL;
}

static ncclResult_t run_group(void)
{
	ncclResult_t result = group.error;

	for (size_t i = 0; i < group.n_joining; i++) {
		ncclComm_t comm = group.joining[i];
		ncclResult_t r = emu_comm_joined(comm);

		if (result == ncclSuccess)
			result = r;
		if (comm->color < 0) /* the program has no handle of it */
			emu_comm_end(comm, 0);
		else if (comm->split_to)
			*comm->split_to = comm;
	}
	for (size_t i = 0; i < group.n; i++) {
		struct queued *q = &group.queue[i];

		if (q->transfers)
			store_transfers(q);
		if (result == ncclSuccess)
			result = emu_nccl_launch(&q->work, q->stream);
	}
	free(group.queue);
	free(group.joining);
	memset(&group, 0, sizeof(group));
	return result;
}

/* Until group_end(), the thread's clock stands still: launches have modelled host times. */
static void group_start(void)
{
	const struct emu_gpu *gpu = emu_gpu();

	if (gpu)
		gpu->gpuemu_clock_pause();
	group.depth++;
}

static ncclResult_t group_end(void)
{
	const struct emu_gpu *gpu = emu_gpu();
	ncclResult_t r = --group.depth > 0 ? group.error : run_group();

	if (gpu)
		gpu->gpuemu_clock_resume();
	return r;
}

EMU_NCCL(ncclGroupStart, void)
{
	group.depth++;
	return ncclSuccess;
}

EMU_NCCL(ncclGroupEnd, void)
{
	if (group.depth == 0)
		return ncclInvalidUsage;
	group.depth--;
	group_start();
	return group_end();
}

/* Ends the group without running it; estimates the duration of its operations in sequence. */
EMU_NCCL(ncclGroupSimulateEnd, ncclSimInfo_t *simInfo)
{
	double us = 0;
	ncclResult_t r = group.error;

	if (group.depth == 0)
		return ncclInvalidUsage;
	if (!simInfo || simInfo->size != sizeof(*simInfo))
		return ncclInvalidArgument;
	if (--group.depth > 0)
		return r;
	for (size_t i = 0; i < group.n; i++) {
		struct queued *q = &group.queue[i];

		q->work.more = q->transfers;
		us += (double)emu_nccl_duration_ns(&q->work) / 1000;
		free(q->transfers);
	}
	group.n = 0;
	if (r == ncclSuccess)
		simInfo->estimatedTime = (float)us;
	else
		group.error = r;
	return run_group();
}

static ncclResult_t set_error(ncclResult_t why)
{
	if (group.depth > 0 && group.error == ncclSuccess)
		group.error = why;
	return why;
}

static struct queued *queue_new(ncclComm_t comm, CUstream stream)
{
	struct queued *q;

	if (array_reserve(&group.queue, group.n + 1, &group.cap) < 0)
		return NULL;
	q = &group.queue[group.n++];
	memset(q, 0, sizeof(*q));
	q->stream = stream;
	q->work.comm = comm;
	return q;
}

/* Checks that the communicator can be used. */
static ncclResult_t usable(ncclComm_t comm)
{
	if (!comm)
		return ncclInvalidArgument;
	return emu_comm_state(comm);
}

ncclResult_t emu_group_operation(ncclComm_t comm, const struct emu_operation *o,
				 const void *scalar_at, CUstream stream)
{
	ncclResult_t r = usable(comm);
	struct queued *q;

	if (r != ncclSuccess)
		return set_error(r);
	if (o->root >= comm->n)
		return set_error(ncclInvalidArgument);
	group_start();
	q = queue_new(comm, stream);
	if (q) {
		q->work.operation = *o;
		q->work.scalar_at = scalar_at;
	} else {
		group.error = ncclSystemError;
	}
	return group_end();
}

ncclResult_t emu_group_message(ncclComm_t comm, const struct emu_message *t, CUstream stream)
{
	ncclResult_t r = usable(comm);
	struct queued *q = NULL;

	if (r != ncclSuccess)
		return set_error(r);
	if (t->peer >= comm->n)
		return set_error(ncclInvalidArgument);
	group_start();
	for (size_t i = 0; i < group.n; i++)
		if (group.queue[i].work.comm == comm && group.queue[i].stream == stream &&
		    group.queue[i].work.operation.kind == COST_SEND_RECV)
			q = &group.queue[i];
	if (!q) {
		q = queue_new(comm, stream);
		if (q)
			q->work.operation.kind = COST_SEND_RECV;
	}
	if (q && array_reserve(&q->transfers, q->work.n_transfers + 1, &q->cap) == 0)
		q->transfers[q->work.n_transfers++] = *t;
	else
		group.error = ncclSystemError;
	return group_end();
}
