/* SPDX-License-Identifier: Apache-2.0 */

/* collectives processes|threads|group RANKS LAUNCHES [DEPTH]: launches a graph with computation and
 * communication many times, nested DEPTH times in other graphs. In each launch another rank is
 * late. Some launches run beside other communication, and the graph is replaced by one of
 * the same form. One process or one thread for each rank, or one thread for all ranks. Prints
 * results that do not depend on time. */
#include "tests/emugpu/check_driver.h"
#include <gpuemu.h>

#include <nccl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_RANKS 8
#define COUNT 4096
#define LATE_NS 300000

static const char ptx[] = PTX(ENTRY("work(.param .u64 x, .param .u32 ns)"));

struct rank {
	int rank, n;
	ncclUniqueId id;
	ncclComm_t comm, other;
	CUcontext context;
	CUfunction work;
	CUstream a, b;
	CUevent forked, joined;
	float *x, *y, *z;
	CUgraph graph;
	CUgraphExec exec;
};

static void run_kernel(struct gpuemu_launch *launch, void *const *args)
{
	float *x = *(float **)args[0];

	for (int i = 0; i < COUNT; i++)
		x[i] = x[i] / 2 + 1;
}

static void cost(const struct gpuemu_launch *launch, void *const *args, struct gpuemu_cost *ret)
{
	ret->ns = *(uint32_t *)args[1];
}

static const struct gpuemu_kernel kernel = {.name = "work", .run = run_kernel, .cost = cost};

static void open_gpu(struct rank *r)
{
	CUdeviceptr at;

	r->context = use_device(r->rank);
	r->work = load_kernel(ptx, "work");
	OK(cuStreamCreate(&r->a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&r->b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&r->forked, 0));
	OK(cuEventCreate(&r->joined, 0));
	OK(cuMemAlloc(&at, 3 * COUNT * sizeof(float)));
	OK(cuMemsetD8(at, 0, 3 * COUNT * sizeof(float)));
	r->x = (float *)at;
	r->y = r->x + COUNT;
	r->z = r->y + COUNT;
}

static void compute(struct rank *r, float *at, uint32_t ns)
{
	void *args[] = {&at, &ns};

	OK(cuCtxSetCurrent(r->context));
	OK(cuLaunchKernel(r->work, 1, 1, 1, 32, 1, 1, 0, r->a, args, NULL));
}

/* ---- communication of all ranks of the process */

static void all_reduce(struct rank *ranks, int n, size_t count)
{
	NCCL(ncclGroupStart());
	for (int i = 0; i < n; i++)
		NCCL(ncclAllReduce(ranks[i].x, ranks[i].y, count, ncclFloat, ncclSum, ranks[i].comm,
				   ranks[i].a));
	NCCL(ncclGroupEnd());
}

static void pass_on(struct rank *ranks, int n)
{
	NCCL(ncclGroupStart());
	for (int i = 0; i < n; i++) {
		struct rank *r = &ranks[i];

		NCCL(ncclSend(r->y, COUNT / 2, ncclFloat, (r->rank + 1) % r->n, r->comm, r->a));
		NCCL(ncclRecv(r->x, COUNT / 2, ncclFloat, (r->rank + r->n - 1) % r->n, r->comm,
			      r->a));
	}
	NCCL(ncclGroupEnd());
}

static void broadcast(struct rank *ranks, int n)
{
	NCCL(ncclGroupStart());
	for (int i = 0; i < n; i++)
		NCCL(ncclBroadcast(ranks[i].z, ranks[i].z, COUNT, ncclFloat, 0, ranks[i].other,
				   ranks[i].b));
	NCCL(ncclGroupEnd());
}

/* ---- graphs */

static void fork_off(struct rank *r)
{
	OK(cuCtxSetCurrent(r->context));
	OK(cuEventRecord(r->forked, r->a));
	OK(cuStreamWaitEvent(r->b, r->forked, 0));
}

static void join(struct rank *r)
{
	OK(cuCtxSetCurrent(r->context));
	OK(cuEventRecord(r->joined, r->b));
	OK(cuStreamWaitEvent(r->a, r->joined, 0));
}

static void capture(struct rank *ranks, int n, size_t count)
{
	for (int i = 0; i < n; i++) {
		OK(cuCtxSetCurrent(ranks[i].context));
		OK(cuStreamBeginCapture(ranks[i].a, CU_STREAM_CAPTURE_MODE_RELAXED));
		compute(&ranks[i], ranks[i].x, 20000);
	}
	all_reduce(ranks, n, count);
	for (int i = 0; i < n; i++)
		fork_off(&ranks[i]);
	broadcast(ranks, n);
	for (int i = 0; i < n; i++)
		compute(&ranks[i], ranks[i].y, 10000 * (uint32_t)(1 + ranks[i].rank));
	pass_on(ranks, n);
	for (int i = 0; i < n; i++) {
		join(&ranks[i]);
		compute(&ranks[i], ranks[i].z, 5000);
		OK(cuStreamEndCapture(ranks[i].a, &ranks[i].graph));
	}
}

static int depth;

/* Wraps the graph as a child of another graph, DEPTH times. */
static void wrap(struct rank *r)
{
	for (int i = 0; i < depth; i++) {
		CUgraph parent;
		CUgraphNode first, child;

		OK(cuGraphCreate(&parent, 0));
		OK(cuGraphAddEmptyNode(&first, parent, NULL, 0));
		OK(cuGraphAddChildGraphNode(&child, parent, &first, 1, r->graph));
		OK(cuGraphDestroy(r->graph));
		r->graph = parent;
	}
}

static void instantiate(struct rank *r)
{
	wrap(r);
	OK(cuCtxSetCurrent(r->context));
	OK(cuGraphInstantiateWithFlags(&r->exec, r->graph, 0));
	OK(cuGraphDestroy(r->graph));
}

static void update(struct rank *r)
{
	CUgraphExecUpdateResultInfo info;

	wrap(r);
	OK(cuCtxSetCurrent(r->context));
	OK(cuGraphExecUpdate(r->exec, r->graph, &info));
	OK(cuGraphDestroy(r->graph));
}

/* ---- a run */

static void launch(struct rank *ranks, int n, int step)
{
	for (int i = 0; i < n; i++) {
		struct rank *r = &ranks[i];

		if (step % r->n == r->rank)
			compute(r, r->x, LATE_NS);
		OK(cuCtxSetCurrent(r->context));
		OK(cuGraphLaunch(r->exec, r->a));
	}
	if (step % 4 == 3)
		all_reduce(ranks, n, COUNT);
	for (int i = 0; i < n; i++) {
		OK(cuCtxSetCurrent(ranks[i].context));
		OK(cuStreamSynchronize(ranks[i].a));
	}
}

static void print_results(struct rank *r)
{
	float x[3 * COUNT];
	double sum = 0;

	OK(cuCtxSetCurrent(r->context));
	OK(cuMemcpyDtoH(x, (CUdeviceptr)r->x, sizeof(x)));
	for (int i = 0; i < 3 * COUNT; i++)
		sum += x[i];
	printf("rank %d: %.3f\n", r->rank, sum);
	fflush(stdout);
}

static void run_all(struct rank *ranks, int n, int launches)
{
	capture(ranks, n, COUNT);
	for (int i = 0; i < n; i++)
		instantiate(&ranks[i]);
	for (int i = 0; i < launches / 2; i++)
		launch(ranks, n, i);
	capture(ranks, n, COUNT / 2);
	for (int i = 0; i < n; i++)
		update(&ranks[i]);
	for (int i = launches / 2; i < launches; i++)
		launch(ranks, n, i);
	for (int i = 0; i < n; i++) {
		print_results(&ranks[i]);
		OK(cuGraphExecDestroy(ranks[i].exec));
	}
	for (int i = 0; i < n; i++) {
		NCCL(ncclCommDestroy(ranks[i].other));
		NCCL(ncclCommDestroy(ranks[i].comm));
	}
}

static int run_process(struct rank *r, int launches)
{
	open_gpu(r);
	NCCL(ncclCommInitRank(&r->comm, r->n, r->id, r->rank));
	NCCL(ncclCommSplit(r->comm, 0, r->rank, &r->other, NULL));
	run_all(r, 1, launches);
	return 0;
}

static int run_processes(struct rank *ranks, int n, int launches)
{
	pid_t children[MOST_RANKS];
	int status, bad = 0;

	NCCL(ncclGetUniqueId(&ranks[0].id));
	for (int i = 0; i < n; i++) {
		ranks[i].id = ranks[0].id;
		children[i] = fork();
		if (children[i] == 0)
			exit(run_process(&ranks[i], launches));
	}
	for (int i = 0; i < n; i++) {
		waitpid(children[i], &status, 0);
		bad |= status != 0;
	}
	return bad;
}

struct party {
	struct rank *rank;
	int launches;
	pthread_t thread;
};

static void *run_thread(void *party)
{
	const struct party *p = party;

	run_process(p->rank, p->launches);
	return NULL;
}

static int run_threads(struct rank *ranks, int n, int launches)
{
	struct party parties[MOST_RANKS];

	NCCL(ncclGetUniqueId(&ranks[0].id));
	for (int i = 0; i < n; i++) {
		ranks[i].id = ranks[0].id;
		parties[i] = (struct party){.rank = &ranks[i], .launches = launches};
		TRUE(pthread_create(&parties[i].thread, NULL, run_thread, &parties[i]) == 0);
	}
	for (int i = 0; i < n; i++)
		pthread_join(parties[i].thread, NULL);
	return 0;
}

static int run_group(struct rank *ranks, int n, int launches)
{
	ncclComm_t comms[MOST_RANKS], others[MOST_RANKS];

	for (int i = 0; i < n; i++)
		open_gpu(&ranks[i]);
	NCCL(ncclCommInitAll(comms, n, NULL));
	NCCL(ncclCommInitAll(others, n, NULL));
	for (int i = 0; i < n; i++) {
		ranks[i].comm = comms[i];
		ranks[i].other = others[i];
	}
	run_all(ranks, n, launches);
	return 0;
}

int main(int argc, char **argv)
{
	struct rank ranks[MOST_RANKS] = {0};
	int n = argc > 3 ? atoi(argv[2]) : 0;

	if (n < 1 || n > MOST_RANKS)
		return 2;
	for (int i = 0; i < n; i++) {
		ranks[i].rank = i;
		ranks[i].n = n;
	}
	depth = argc > 4 ? atoi(argv[4]) : 0;
	gpuemu_register(&kernel);
	if (strcmp(argv[1], "threads") == 0)
		return run_threads(ranks, n, atoi(argv[3]));
	return strcmp(argv[1], "group") == 0 ? run_group(ranks, n, atoi(argv[3]))
					     : run_processes(ranks, n, atoi(argv[3]));
}
