/* SPDX-License-Identifier: Apache-2.0 */

/* The programs of clock.c on the emulated driver. */
#include "replay/emugpu/driver/clock.h"
#include "tests/emugpu/check_driver.h"
#include "tests/emugpu/clock.h"
#include <gpuemu.h>

#include <nccl.h>
#include <pthread.h>

gpuemu_device_value_fn gpuemu_device_value; /* exported by libcuda.so.1 */

enum { BUFFER = 1 << 20 };

static const size_t bytes_of[SIZES] = {4096, 100000, 250000};

static struct {
	CUcontext context;
	CUstream streams[STREAMS];
	CUevent events[EVENTS];
	CUfunction kernel;
	/* One copy for each stream, since steps of different streams run concurrently. */
	struct {
		CUdeviceptr memory, more, from_peer[MAX_GPUS];
		void *host;
	} buffers[STREAMS];
} gpus[MAX_GPUS];

/* The kernel's only parameter. */
struct work {
	struct step *step;
	int64_t ns;
};

static void kernel_run(struct gpuemu_launch *launch, void *const *args)
{
	const struct work *w = args[0];

	w->step->start_ns = launch->start_ns;
}

static void kernel_cost(const struct gpuemu_launch *launch, void *const *args,
			struct gpuemu_cost *ret)
{
	ret->ns = ((const struct work *)args[0])->ns;
}

static const struct gpuemu_kernel kernel = {.name = "k", .run = kernel_run, .cost = kernel_cost};

static void nothing(void *unused)
{
}

static void set_up_gpu(uint32_t i)
{
	CUdevice device;

	OK(cuDeviceGet(&device, (int)i));
	OK(cuDevicePrimaryCtxRetain(&gpus[i].context, device));
	OK(cuCtxSetCurrent(gpus[i].context));
	gpus[i].kernel = load_kernel(PTX(ENTRY("k(.param .align 8 .b8 work[16])")), "k");
	for (int s = 1; s < STREAMS; s++)
		OK(cuStreamCreate(&gpus[i].streams[s],
				  s == 1 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
	for (int s = 0; s < STREAMS; s++) {
		OK(cuMemAlloc(&gpus[i].buffers[s].memory, BUFFER));
		OK(cuMemAlloc(&gpus[i].buffers[s].more, BUFFER));
		OK(cuMemHostAlloc(&gpus[i].buffers[s].host, BUFFER, 0));
		for (int k = 0; k < MAX_GPUS; k++)
			OK(cuMemAlloc(&gpus[i].buffers[s].from_peer[k], BUFFER));
	}
}

static void do_step(struct step *s, ncclComm_t comm)
{
	CUstream stream = gpus[s->gpu].streams[s->stream];
	size_t bytes = bytes_of[s->size];
	CUdeviceptr memory = gpus[s->gpu].buffers[s->stream].memory;
	CUdeviceptr more = gpus[s->gpu].buffers[s->stream].more;
	uint8_t *host = gpus[s->gpu].buffers[s->stream].host;
	struct work work = {s, s->ns};
	void *params[] = {&work};

	OK(cuCtxSetCurrent(gpus[s->gpu].context));
	switch (s->kind) {
	case KERNEL:
		OK(cuLaunchKernel(gpus[s->gpu].kernel, s->blocks, 1, 1, 1024, 1, 1, 0, stream,
				  params, NULL));
		break;
	case COPY_IN:
		OK(cuMemcpyHtoDAsync(memory, host, bytes, stream));
		break;
	case COPY_OUT:
		OK(cuMemcpyDtoHAsync(host + BUFFER / 2, memory, bytes, stream));
		break;
	case COPY_WITHIN:
		OK(cuMemcpyDtoDAsync(more, memory, bytes, stream));
		break;
	case COPY_PEER:
		OK(cuMemcpyDtoDAsync(gpus[s->other].buffers[s->stream].from_peer[s->gpu], memory,
				     bytes, stream));
		break;
	case FILL:
		OK(cuMemsetD8Async(more, 1, bytes, stream));
		break;
	case HOST_FUNCTION:
		OK(cuLaunchHostFunc(stream, nothing, NULL));
		break;
	case COLLECTIVE:
		NCCL(ncclAllReduce((void *)memory, (void *)more, bytes / 4, ncclFloat32, ncclSum,
				   comm, (cudaStream_t)stream));
		break;
	case RECORD:
		OK(cuEventRecord(gpus[s->gpu].events[s->event], stream));
		break;
	case WAIT:
		OK(cuStreamWaitEvent(stream, gpus[s->other].events[s->event], 0));
		break;
	case SYNC_STREAM:
		OK(cuStreamSynchronize(stream));
		break;
	case SYNC_EVENT:
		OK(cuEventSynchronize(gpus[s->gpu].events[s->event]));
		break;
	default:
		OK(cuCtxSynchronize());
		break;
	}
	s->after_ns = (int64_t)gpuemu_host_ns();
}

/* Measures a step on an idle stream. */
static int64_t measure_idle(const struct costs *c, struct step s, ncclComm_t comm,
			    int64_t *start_ns)
{
	*start_ns = (int64_t)gpuemu_host_ns() + c->launch_ns;
	if (s.kind == COLLECTIVE)
		*start_ns += c->call_collective_ns - c->call_launch_ns;
	do_step(&s, comm);
	s.kind = SYNC_STREAM;
	do_step(&s, comm);
	return s.after_ns - c->call_query_ns - c->sync_ns - *start_ns;
}

static int64_t value(const char *key)
{
	double x;

	TRUE(gpuemu_device_value(0, key, &x) == 0);
	return (int64_t)x;
}

static struct costs costs;

void run_setup(uint32_t n, struct costs *ret)
{
	static const enum step_kind copies[] = {COPY_IN, COPY_OUT, COPY_WITHIN, COPY_PEER, FILL};
	int held, sms;
	int64_t start_ns;

	gpuemu_register(&kernel);
	OK(cuInit(0));
	for (uint32_t i = n; i-- > 0;)
		set_up_gpu(i);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&held, gpus[0].kernel, 1024, 0));
	OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	costs = (struct costs){
		.launch_ns = value("launch_ns"),
		.gap_ns = value("gap_ns"),
		.event_ns = value("event_ns"),
		.sync_ns = value("sync_ns"),
		.call_launch_ns = value("call_launch_ns"),
		.call_collective_ns = value("call_collective_ns"),
		.call_copy_ns = value("call_copy_ns"),
		.call_event_ns = value("call_event_ns"),
		.call_query_ns = value("call_query_ns"),
		.blocks_held = (double)sms * held,
	};
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		for (uint32_t k = 0; k < SIZES; k++)
			costs.copy_ns[copies[i]][k] = measure_idle(
				&costs,
				(struct step){copies[i], .stream = 2, .other = 1, .size = k}, NULL,
				&start_ns);
	*ret = costs;
}

struct runner {
	struct program *p;
	struct thread *thread;
	uint32_t rank;
	const ncclUniqueId *id;
	pthread_barrier_t *all;
	int64_t start_ns[SIZES];
	int64_t took_ns[SIZES]; /* from start_ns until the end on all ranks */
};

static void *run_thread(void *arg)
{
	struct runner *r = arg;
	ncclComm_t comm = NULL;

	OK(cuCtxSetCurrent(gpus[r->rank].context));
	if (r->p->threads > 1) {
		NCCL(ncclCommInitRank(&comm, (int)r->p->threads, *r->id, (int)r->rank));
		/* The first collective also loads NCCL's kernels. */
		for (uint32_t k = SIZES; k-- > 0;)
			measure_idle(&costs, (struct step){COLLECTIVE, r->rank, 2, .size = k}, comm,
				     &r->start_ns[k]);
		for (uint32_t k = 0; k < SIZES; k++)
			r->took_ns[k] = measure_idle(
				&costs, (struct step){COLLECTIVE, r->rank, 2, .size = k}, comm,
				&r->start_ns[k]);
	}
	pthread_barrier_wait(r->all);
	r->thread->begin_ns = (int64_t)gpuemu_host_ns();
	for (uint32_t i = 0; i < r->thread->n; i++)
		do_step(&r->thread->steps[i], comm);
	OK(cuCtxSynchronize());
	pthread_barrier_wait(r->all);
	if (comm)
		NCCL(ncclCommDestroy(comm));
	return NULL;
}

/* It started when the last rank could. */
static int64_t shortest_ns(const struct runner *r, uint32_t n, uint32_t size)
{
	int64_t ns = INT64_MAX;

	for (uint32_t i = 0; i < n; i++)
		ns = r[i].took_ns[size] < ns ? r[i].took_ns[size] : ns;
	return ns;
}

/* New streams and events for each program, so that no earlier work affects it. */
static void renew_streams_and_events(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		OK(cuCtxSetCurrent(gpus[i].context));
		OK(cuCtxSynchronize());
		for (int e = 0; e < EVENTS; e++) {
			if (gpus[i].events[e])
				OK(cuEventDestroy(gpus[i].events[e]));
			OK(cuEventCreate(&gpus[i].events[e], 0));
		}
	}
}

void run_program(struct program *p)
{
	struct runner runners[MAX_GPUS] = {0};
	pthread_t threads[MAX_GPUS];
	pthread_barrier_t all;
	ncclUniqueId id;

	renew_streams_and_events(MAX_GPUS);
	NCCL(ncclGetUniqueId(&id));
	pthread_barrier_init(&all, NULL, p->threads);
	for (uint32_t i = 0; i < p->threads; i++) {
		runners[i] = (struct runner){p, &p->thread[i], i, &id, &all, {0}, {0}};
		TRUE(pthread_create(&threads[i], NULL, run_thread, &runners[i]) == 0);
	}
	for (uint32_t i = 0; i < p->threads; i++)
		TRUE(pthread_join(threads[i], NULL) == 0);
	pthread_barrier_destroy(&all);
	for (uint32_t k = 0; k < SIZES; k++)
		p->collective_ns[k] = shortest_ns(runners, p->threads, k);
}
