/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/times/device_clock.h"

#include "capture/library/device/collector.h"
#include "capture/library/device/contexts.h"
#include "capture/library/find/cu.h"
#include "capture/library/find/emulated.h"

#include <errno.h>

#define TRIES 3
#define MOST_TRIES 24 /* if no two of them agree */
#define REBASE_NS 100000000
#define STALE_NS INT64_C(10000000000) /* milliseconds in a float are then off by 0.5 us */
/* Time between two anchors: the time since the first one, within these limits. */
#define SOONEST_NS 10000000
#define LATEST_NS 1000000000

/* The event is known to be reached: saves one driver call. */
static int read_reached(const struct cap_device_clock *k, void *event, int64_t *ret)
{
	float ms = 0;
	int r = cap_cu.cuEventElapsedTime(&ms, k->base, event);

	if (r == CU_NOT_READY)
		return 0;
	if (r)
		return -EIO;
	*ret = k->base_ns + (int64_t)((double)ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
	return 1;
}

int cap_device_clock_read(const struct cap_device_clock *k, void *event, int64_t *ret_ns)
{
	int r = cap_cu.cuEventQuery(event);

	if (r == CU_NOT_READY)
		return 0;
	return r ? -EIO : read_reached(k, event, ret_ns);
}

/* ---- anchors */

/* Records the probe on the library's idle stream and waits for it. Returns the host time of the
 * call, and its duration. */
static int record_probe(const struct cap_device_clock *k, int64_t *ret_issued_ns,
			int64_t *ret_width_ns)
{
	*ret_issued_ns = cap_now_ns();
	if (cap_cu.cuEventRecord(k->probe, k->stream) || cap_cu.cuEventSynchronize(k->probe))
		return -EIO;
	*ret_width_ns = cap_now_ns() - *ret_issued_ns;
	return 0;
}

/* A moment on both clocks; host_ns is the middle of the possible interval. */
struct anchor {
	int64_t device_ns, host_ns, uncertain_ns;
};

/* Takes the probe with the narrowest interval. */
static int take_anchor(const struct cap_device_clock *k, struct anchor *ret)
{
	int64_t issued, width, device, second_ns = INT64_MAX;

	ret->uncertain_ns = INT64_MAX;
	/* Two equally narrow probes were not delayed; on a busy machine any single one may be. */
	for (int i = 0; i < TRIES || (i < MOST_TRIES && second_ns > ret->uncertain_ns * 5 / 4);
	     i++) {
		if (record_probe(k, &issued, &width) < 0 || read_reached(k, k->probe, &device) != 1)
			return -EIO;
		if (width / 2 < ret->uncertain_ns) {
			second_ns = ret->uncertain_ns;
			*ret = (struct anchor){device, issued + width / 2, width / 2};
		} else if (width / 2 < second_ns) {
			second_ns = width / 2;
		}
	}
	return 0;
}

/* Publishes the accuracy for other threads. */
static void publish_drift(struct cap_device_clock *k)
{
	__atomic_store(&k->residual_ns, &k->drift.residual_ns, __ATOMIC_RELAXED);
	__atomic_store(&k->rate, &k->drift.fit.rate, __ATOMIC_RELAXED);
}

static int begin_clock(struct cap_device_clock *k)
{
	struct anchor first;

	if (cap_cu.cuStreamCreate(&k->stream, CU_NON_BLOCKING) ||
	    cap_cu.cuEventCreate(&k->base, 0) || cap_cu.cuEventCreate(&k->probe, 0) ||
	    cap_cu.cuEventRecord(k->base, k->stream) || cap_cu.cuStreamSynchronize(k->stream) ||
	    take_anchor(k, &first) < 0)
		return -EIO;
	cap_drift_begin(&k->drift, first.device_ns, first.host_ns, first.uncertain_ns);
	publish_drift(k);
	k->lag_ns = first.uncertain_ns;
	k->begun_ns = k->anchored_ns = cap_now_ns();
	return 0;
}

void cap_device_clock_begin(struct cap_device_clock *k, void *context)
{
	int mode = cap_cu_relax_begin(), entered = cap_context_enter(context);

	*k = (struct cap_device_clock){.context = context};
	if (begin_clock(k) < 0)
		k->state = CAP_CLOCK_BROKEN;
	cap_context_leave(entered);
	cap_cu_relax_end(mode);
}

void cap_device_clock_reanchor(struct cap_device_clock *k, int64_t now_ns)
{
	int64_t wait = k->anchored_ns - k->begun_ns;
	struct anchor a;

	wait = wait < SOONEST_NS ? SOONEST_NS : wait > LATEST_NS ? LATEST_NS : wait;
	if (now_ns - k->anchored_ns < wait)
		return;
	k->anchored_ns = now_ns;
	if (take_anchor(k, &a) < 0)
		return;
	cap_drift_anchor(&k->drift, a.device_ns, a.host_ns, a.uncertain_ns, k->used_ns);
	publish_drift(k);
}

/* ---- the base */

void cap_device_clock_rebase(struct cap_device_clock *k, void **event, int64_t ns)
{
	void *old = k->base;

	if (ns - k->base_ns < REBASE_NS)
		return;
	k->base = *event;
	k->base_ns = ns;
	*event = old;
}

bool cap_device_clock_is_stale(const struct cap_device_clock *k, int64_t issued_ns)
{
	return issued_ns - cap_drift_to_host(&k->drift, k->base_ns) > STALE_NS;
}

void cap_device_clock_renew(struct cap_device_clock *k)
{
	int64_t issued = cap_now_ns(), half;

	if (cap_cu.cuEventRecord(k->probe, k->stream) || cap_cu.cuEventSynchronize(k->probe))
		return;
	half = (cap_now_ns() - issued) / 2;
	void *old = k->base;

	k->base = k->probe;
	k->probe = old;
	k->base_ns = cap_drift_to_device(&k->drift, issued + half);
	cap_drift_resume(&k->drift, k->base_ns, issued + half, half);
	publish_drift(k);
}

/* ---- times */

int64_t cap_device_clock_op_start(const struct cap_device_clock *k, int64_t issued_ns, int64_t from,
				  int64_t end)
{
	int64_t issued = cap_drift_to_device(&k->drift, issued_ns);
	int64_t idle = cap_drift_to_device(&k->drift, issued_ns + k->lag_ns);
	int64_t start = idle < end ? idle : end;

	if (start < issued)
		start = issued;
	return start > from ? start : from;
}

int64_t cap_device_clock_end_at_return(const struct cap_device_clock *k, int64_t done_ns,
				       int64_t from, int64_t event)
{
	int64_t done = cap_drift_to_device(&k->drift, done_ns);

	if (event > cap_drift_to_device(&k->drift, done_ns + 3 * k->lag_ns) || done > event)
		return event;
	return done > from ? done : from;
}

int64_t cap_device_clock_to_host(struct cap_device_clock *k, int64_t device_ns)
{
	if (device_ns > k->used_ns)
		k->used_ns = device_ns;
	return cap_drift_to_host(&k->drift, device_ns);
}

/* ---- the library's thread, and the end of a context */

/* The clock that the library's thread uses. That thread stores this before it reads the clock's
 * state; other threads store the state before they read this. So one of the two sees the other's
 * store. */
static const struct cap_device_clock *in_use;

int cap_device_clock_enter(const struct cap_device_clock *k)
{
	static const struct cap_device_clock *current; /* clock whose context is current */
	uint32_t state;
	void *old;

	__atomic_store_n(&in_use, k, __ATOMIC_SEQ_CST);
	state = __atomic_load_n(&k->state, __ATOMIC_SEQ_CST);
	if (state == CAP_CLOCK_LIVE && k == current)
		return 0;
	if (current)
		cap_cu.cuCtxPopCurrent_v2(&old);
	current = NULL;
	if (state != CAP_CLOCK_LIVE) {
		cap_device_clock_leave();
		return state == CAP_CLOCK_ENDING ? -EAGAIN : -EIO;
	}
	if (cap_cu.cuCtxPushCurrent_v2(k->context))
		return -EIO;
	current = k;
	return 0;
}

void cap_device_clock_leave(void)
{
	__atomic_store_n(&in_use, NULL, __ATOMIC_RELEASE);
}

static bool is_left(void *clock)
{
	return __atomic_load_n(&in_use, __ATOMIC_SEQ_CST) != clock;
}

void cap_device_clock_end(struct cap_device_clock *k)
{
	__atomic_store_n(&k->state, CAP_CLOCK_ENDING, __ATOMIC_SEQ_CST);
	cap_collector_await(is_left, k);
}

void cap_device_clock_ended(struct cap_device_clock *k, bool is_destroyed)
{
	__atomic_store_n(&k->state, is_destroyed ? CAP_CLOCK_ENDED : CAP_CLOCK_LIVE,
			 __ATOMIC_RELEASE);
}
