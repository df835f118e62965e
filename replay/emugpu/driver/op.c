/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/op.h"
#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/logs.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct emu_point *emu_point_new(void)
{
	struct emu_point *p = calloc(1, sizeof(*p));

	if (p)
		p->refs = 1;
	return p;
}

void emu_point_drop(struct emu_point *p)
{
	if (p && __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(p);
}

/* States of `done`: pending, reached, pending with a sleeping thread. */
enum { OPEN, REACHED, AWAITED };

int emu_point_reached(const struct emu_point *p)
{
	return __atomic_load_n(&p->done, __ATOMIC_ACQUIRE) == REACHED;
}

static void reach_point(struct emu_point *p, int64_t end_ns)
{
	p->end_ns = end_ns;
	if (__atomic_exchange_n(&p->done, REACHED, __ATOMIC_ACQ_REL) == AWAITED)
		syscall(SYS_futex, &p->done, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void emu_point_reach(struct emu_point *p, int64_t end_ns)
{
	reach_point(p, end_ns);
	emu_point_drop(p);
}

/* Sleeps until `p` is reached, or for the given time. */
static void sleep_on(struct emu_point *p, const struct timespec *most)
{
	uint32_t open = OPEN;

	__atomic_compare_exchange_n(&p->done, &open, AWAITED, 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	syscall(SYS_futex, &p->done, FUTEX_WAIT_PRIVATE, AWAITED, most, NULL, 0);
}

int emu_point_await(struct emu_point *p, long ns)
{
	struct timespec most = {0, ns};

	if (!emu_point_reached(p))
		sleep_on(p, &most);
	return emu_point_reached(p);
}

int64_t emu_dep_wait(struct emu_dep *d)
{
	struct emu_point *p = take(d->point);

	if (!p)
		return d->end_ns = moment_after(d->end_ns, take(d->lag_ns));
	while (!emu_point_reached(p))
		sleep_on(p, NULL);
	d->end_ns = moment_after(p->end_ns, take(d->lag_ns));
	emu_point_drop(p);
	return d->end_ns;
}

int64_t emu_op_ready(const struct emu_op *op, const struct cost_gpu *m, int64_t tail_ns)
{
	int64_t ready = moment_after(tail_ns, op->type->light ? 0 : (int64_t)m->gap_ns);

	ready = moment_wait(ready, op->issued_ns, (int64_t)m->launch_ns);
	return moment_wait(ready, op->ready_ns, 0);
}

void emu_op_run(struct emu_op *op, struct emu_track *track)
{
	int64_t ready = emu_op_ready(op, &track->device->model, track->tail_ns);

	track->tail_ns = moment_wait(track->tail_ns, op->type->run(op, track, ready), 0);
}

void emu_op_done(struct emu_op *op)
{
	if (op->type->release)
		op->type->release(op);
	for (unsigned i = 0; i < op->n_deps; i++)
		emu_point_drop(op->deps[i].point);
	free(op->deps);
	op->deps = NULL;
	op->n_deps = 0;
}

/* ---- records and waits ---- */

static void release_point(struct emu_op *op)
{
	emu_point_drop(take(op->point));
}

/* A record that runs later has a point on the heap, with one reference of the op and one of the
 * submitter. */
static int own_point(struct emu_op *op)
{
	struct emu_point *p = emu_point_new();

	if (!p)
		return -ENOMEM;
	p->refs = 2;
	op->point = p;
	return 1;
}

static int64_t run_record(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	reach_point(op->point, ready_ns);
	return ready_ns;
}

const struct emu_op_type emu_record_type = {
	.name = "record",
	.node = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
	.light = 1,
	.own = own_point,
	.release = release_point,
	.run = run_record,
};

/* A wait consists of its deps only. */
static int64_t run_wait(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	return op->ready_ns;
}

const struct emu_op_type emu_wait_type = {
	.name = "wait",
	.node = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
	.light = 1,
	.run = run_wait,
};

/* ---- host functions ---- */

static int always_true(const struct emu_op *op)
{
	return 1;
}

static int64_t run_host(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	int64_t before;

	gpuemu_thread_not_before(ready_ns);
	before = (int64_t)gpuemu_host_ns();
	if (op->host.callback)
		op->host.callback(op->host.stream, emu_context_error(track->context),
				  op->host.data);
	else
		op->host.function(op->host.data);
	return moment_after(ready_ns, (int64_t)gpuemu_host_ns() - before);
}

const struct emu_op_type emu_host_type = {
	.name = "host function",
	.node = CU_GRAPH_NODE_TYPE_HOST,
	.blocks = always_true,
	.run = run_host,
};
