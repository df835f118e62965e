/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/capture.h"
#include "replay/emugpu/driver/handle.h"
#include "replay/emugpu/driver/logs.h"
#include "replay/emugpu/driver/observed.h"
#include "replay/emugpu/driver/shared_event.h"
#include "replay/emugpu/driver/stream.h"

#include <stdlib.h>

#define MAGIC 0x4576656eu

int emu_is_event(CUevent e)
{
	return e && emu_is_alive(((struct emu_event *)e)->magic, MAGIC, "event");
}

struct emu_dep emu_event_dep(struct emu_event *e)
{
	struct emu_dep d;

	pthread_mutex_lock(&e->lock);
	d = e->last;
	if (d.point)
		__atomic_add_fetch(&d.point->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&e->lock);
	return d;
}

static void set_last(struct emu_event *e, struct emu_dep d)
{
	pthread_mutex_lock(&e->lock);
	emu_point_drop(e->last.point);
	e->last = d;
	e->recorded = 1;
	e->capture = 0;
	pthread_mutex_unlock(&e->lock);
}

void emu_event_set(struct emu_event *e, int64_t end_ns)
{
	set_last(e, (struct emu_dep){.end_ns = end_ns});
}

struct emu_point *emu_event_expect(struct emu_event *e)
{
	struct emu_point *p = emu_point_new();

	if (!p)
		return NULL;
	p->refs = 2;
	set_last(e, (struct emu_dep){.point = p});
	return p;
}

CUresult emu_submit_shared(struct emu_thread *self, struct emu_stream *s,
			   struct emu_shared_event *e, int records)
{
	if (s->capture)
		return emu_capture_invalidate(s);

	struct emu_op op = emu_shared_op(e, records);
	return emu_submit(self, s, &op);
}

CUresult emu_event_record(struct emu_thread *self, struct emu_event *e, struct emu_stream *s)
{
	struct emu_point here = {.refs = 2}; /* used if the record runs immediately */
	struct emu_dep d = {0};
	struct emu_op op = {.type = &emu_record_type, .point = &here};

	if (e->shared)
		return emu_submit_shared(self, s, e->shared, 1);
	if (s->capture)
		return emu_capture_record(s, e);
	CUresult r = emu_submit(self, s, &op);

	if (emu_point_reached(&here)) {
		d.end_ns = here.end_ns;
	} else if (!op.point) {
		return r;
	} else {
		d.point = op.point;
		if (emu_point_reached(d.point))
			emu_dep_wait(&d);
	}
	set_last(e, d);
	return r;
}

EMU_API CUresult cuEventCreate(CUevent *ret, unsigned flags)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_context *c;
	struct emu_event *e;
	CUresult r = emu_current(self, &c);

	if (r)
		return r;
	if (!ret || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->magic = MAGIC;
	e->flags = flags;
	e->context = c;
	pthread_mutex_init(&e->lock, NULL);
	if (flags & CU_EVENT_INTERPROCESS && emu_shared_new(&e->shared) < 0) {
		free(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret = (CUevent)e;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuEventDestroy_v2(CUevent event)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_event *e = (struct emu_event *)event;

	if (!emu_is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	e->magic = 0;
	emu_point_drop(e->last.point);
	free(e->nodes);
	if (e->shared)
		emu_shared_free(e->shared, !e->shared_opened);
	pthread_mutex_destroy(&e->lock);
	free(e);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned flags)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_event *e = (struct emu_event *)event;
	struct emu_stream *s;
	CUresult r;

	if (!emu_is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	r = emu_stream_of(self, handle, &s);
	if (r)
		return r;
	if (e->context != s->context)
		return CUDA_ERROR_INVALID_HANDLE;
	return emu_event_record(self, e, s);
}

EMU_API CUresult cuEventQuery(CUevent event)
{
	EMU_ENTER(EMU_CALL_QUERY);
	struct emu_event *e = (struct emu_event *)event;
	CUresult r;

	if (emu_is_over())
		return CUDA_ERROR_DEINITIALIZED;
	if (!emu_is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	r = emu_capture_check(self);
	if (r)
		return r;
	r = emu_context_error(e->context);
	if (r)
		return r;
	if (e->shared) {
		int64_t end_ns;
		int known = emu_shared_known(e->shared, &end_ns) && emu_poll(self, end_ns);

		return known ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
	}
	struct emu_dep d = emu_event_dep(e);

	if (d.point && !emu_point_reached(d.point) &&
	    (self->paused || self->polls++ < EMU_POLLS || !emu_point_await(d.point, EMU_POLL_NS))) {
		emu_point_drop(d.point);
		return CUDA_ERROR_NOT_READY;
	}
	self->polls = 0;
	return emu_poll(self, emu_dep_wait(&d)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

EMU_API CUresult cuEventSynchronize(CUevent event)
{
	EMU_ENTER(EMU_CALL_QUERY);
	struct emu_event *e = (struct emu_event *)event;
	struct emu_context *c;

	if (emu_is_over())
		return CUDA_ERROR_DEINITIALIZED;
	if (!emu_is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	c = e->context;
	emu_observe_wait(EMU_WAIT_EVENT, c, 0);
	if (e->shared) {
		emu_wait(self, emu_shared_wait(e->shared, emu_shared_issued(e->shared)),
			 (int64_t)c->device->model.sync_ns);
		return emu_context_error(c);
	}
	if (!e->recorded)
		return emu_context_error(c);
	struct emu_dep d = emu_event_dep(e);

	emu_wait(self, emu_dep_wait(&d), (int64_t)c->device->model.sync_ns);
	return emu_context_error(c);
}

/* Ratio of the clock rate of event times to the host's clock rate. */
static double event_rate = 1;

__attribute__((constructor)) static void read_event_rate(void)
{
	const char *ppm = getenv("GPUEMU_EVENT_PPM");

	event_rate += ppm ? strtod(ppm, NULL) / 1e6 : 0;
}

/* Stores the time of an event if already known. */
static CUresult end_of(struct emu_thread *self, CUevent event, int64_t *ret_ns)
{
	struct emu_event *e = (struct emu_event *)event;
	struct emu_dep d;

	if (emu_is_over())
		return CUDA_ERROR_DEINITIALIZED;
	if (!emu_is_event(event))
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->flags & CU_EVENT_DISABLE_TIMING || !e->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	d = emu_event_dep(e);
	if (d.point && !emu_point_reached(d.point)) {
		emu_point_drop(d.point);
		return CUDA_ERROR_NOT_READY;
	}
	*ret_ns = emu_dep_wait(&d);
	return *ret_ns > self->now_ns ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

EMU_API CUresult cuEventElapsedTime_v2(float *ret_ms, CUevent start, CUevent end)
{
	EMU_ENTER(EMU_CALL_QUERY);
	int64_t from = 0, to = 0;
	CUresult r = end_of(self, start, &from), q = end_of(self, end, &to);

	if (!ret_ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (!r && !q && ((struct emu_event *)start)->context != ((struct emu_event *)end)->context)
		return CUDA_ERROR_INVALID_HANDLE;
	/* An invalid handle is reported before a pending event. */
	if (r == CUDA_ERROR_NOT_READY && q)
		r = q;
	if (r || q)
		return r ? r : q;
	*ret_ms = (float)((double)(to - from) * event_rate / 1e6);
	return CUDA_SUCCESS;
}
