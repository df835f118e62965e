/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/times/stamps.h"

#include "capture/library/device/cu.h"
#include "capture/library/device/hook.h"
#include "capture/library/device/place.h"

#include <errno.h>
#include <stdlib.h>

#define TRIES 3
#define MOST_TRIES 24 /* where no two come close to each other */
#define REBASE_NS 100000000
#define STALE_NS INT64_C(10000000000) /* then half a microsecond is lost */
/* Between two anchors: as long as since the first, within these. */
#define SOONEST_NS 10000000
#define LATEST_NS 1000000000

/* An event can be recorded on streams of its own context only, which need not be the current one:
 * copies may be put on any stream. */
static int new_event(const struct cap_device_clock *k, void **ret)
{
	int mode = cap_relax(), entered = cap_place_enter(k->context);
	int r = cap_cu.cuEventCreate(ret, 0);

	cap_place_leave(entered);
	cap_unrelax(mode);
	return r;
}

static struct cap_stamp *new_stamp(struct cap_device_clock *k)
{
	struct cap_stamp *s = k->pool;

	if (s) {
		k->pool = s->next;
	} else {
		s = calloc(1, sizeof(*s));
		if (s && new_event(k, &s->event)) {
			free(s);
			s = NULL;
		}
	}
	if (s)
		s->refs = 1;
	return s;
}

struct cap_stamp *cap_stamp_take(struct cap_device_clock *k, void *stream)
{
	struct cap_stamp *s = new_stamp(k);

	if (s && cap_cu.cuEventRecord(s->event, stream)) {
		cap_stamp_drop(k, s);
		return NULL;
	}
	return s;
}

void cap_stamp_drop(struct cap_device_clock *k, struct cap_stamp *s)
{
	if (!s || --s->refs > 0)
		return;
	s->next = k->pool;
	k->pool = s;
}

int cap_clock_event_ns(const struct cap_device_clock *k, void *event, int64_t *ret)
{
	float ms = 0;
	int r = cap_cu.cuEventElapsedTime(&ms, k->base->event, event);

	if (r == CU_NOT_READY)
		return 0;
	if (r)
		return -EIO;
	*ret = k->base_ns + (int64_t)((double)ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
	return 1;
}

/* Issues the probe to our own, idle stream and waits for it: the moments around it. */
static int probe(const struct cap_device_clock *k, int64_t *ret_issued_ns, int64_t *ret_width_ns)
{
	*ret_issued_ns = cap_now_ns();
	if (cap_cu.cuEventRecord(k->probe->event, k->stream) ||
	    cap_cu.cuEventSynchronize(k->probe->event))
		return -EIO;
	*ret_width_ns = cap_now_ns() - *ret_issued_ns;
	return 0;
}

/* A moment on both clocks: the narrowest of some. The host's is in the middle of what is known. */
struct anchor {
	int64_t device_ns, host_ns, uncertain_ns;
};

static int take_anchor(const struct cap_device_clock *k, struct anchor *ret)
{
	int64_t issued, width, device, second_ns = INT64_MAX;

	ret->uncertain_ns = INT64_MAX;
	/* A narrow one that comes twice is no accident; on a busy machine each may be held up. */
	for (int i = 0; i < TRIES || (i < MOST_TRIES && second_ns > ret->uncertain_ns * 5 / 4);
	     i++) {
		if (probe(k, &issued, &width) < 0 ||
		    cap_clock_event_ns(k, k->probe->event, &device) != 1)
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

static int begin(struct cap_device_clock *k)
{
	struct anchor first;

	if (cap_cu.cuStreamCreate(&k->stream, CU_NON_BLOCKING))
		return -EIO;
	k->base = cap_stamp_take(k, k->stream);
	k->probe = new_stamp(k);
	if (!k->base || !k->probe || cap_cu.cuStreamSynchronize(k->stream) ||
	    take_anchor(k, &first) < 0)
		return -EIO;
	cap_drift_begin(&k->drift, first.device_ns, first.host_ns, first.uncertain_ns);
	k->lag_ns = first.uncertain_ns;
	k->begun_ns = k->anchored_ns = cap_now_ns();
	return 0;
}

int cap_clock_begin(struct cap_device_clock *k, void *context)
{
	int mode = cap_relax(), entered = cap_place_enter(context), r;

	*k = (struct cap_device_clock){.context = context};
	r = begin(k);
	cap_place_leave(entered);
	cap_unrelax(mode);
	return r;
}

void cap_clock_follow(struct cap_device_clock *k, int64_t now_ns)
{
	int64_t wait = k->anchored_ns - k->begun_ns;
	struct anchor a;

	wait = wait < SOONEST_NS ? SOONEST_NS : wait > LATEST_NS ? LATEST_NS : wait;
	if (now_ns - k->anchored_ns < wait)
		return;
	k->anchored_ns = now_ns;
	if (take_anchor(k, &a) == 0)
		cap_drift_anchor(&k->drift, a.device_ns, a.host_ns, a.uncertain_ns, k->used_ns);
}

int cap_clock_enter(const struct cap_device_clock *k)
{
	static void *current;
	void *old;

	if (k->context == current)
		return 0;
	if (current)
		cap_cu.cuCtxPopCurrent_v2(&old);
	current = cap_cu.cuCtxPushCurrent_v2(k->context) == 0 ? k->context : NULL;
	return current ? 0 : -EIO;
}

int cap_stamp_ns(struct cap_device_clock *k, const struct cap_stamp *s, int64_t *ret_ns)
{
	int r = cap_cu.cuEventQuery(s->event);

	if (r == CU_NOT_READY)
		return 0;
	return r ? -EIO : cap_clock_event_ns(k, s->event, ret_ns);
}

int cap_clock_rebase(struct cap_device_clock *k, struct cap_stamp *s, int64_t ns,
		     struct cap_stamp **ret_old)
{
	if (ns - k->base_ns < REBASE_NS)
		return 0;
	*ret_old = k->base;
	k->base = s;
	k->base_ns = ns;
	return 1;
}

int64_t cap_clock_begun(const struct cap_device_clock *k, int64_t issued_ns, int64_t from,
			int64_t end)
{
	int64_t issued = cap_drift_device(&k->drift, issued_ns);
	int64_t idle = cap_drift_device(&k->drift, issued_ns + k->lag_ns);
	int64_t start = from > idle ? from : idle;

	if (start > end)
		start = end;
	return start > issued ? start : issued;
}

bool cap_clock_is_stale(const struct cap_device_clock *k, int64_t issued_ns)
{
	return issued_ns - cap_drift_host(&k->drift, k->base_ns) > STALE_NS;
}

void cap_clock_renew(struct cap_device_clock *k)
{
	int64_t issued = cap_now_ns(), half;
	struct cap_stamp *s = cap_stamp_take(k, k->stream);

	if (!s || cap_cu.cuEventSynchronize(s->event)) {
		cap_stamp_drop(k, s);
		return;
	}
	cap_stamp_drop(k, k->base);
	k->base = s;
	half = (cap_now_ns() - issued) / 2;
	k->base_ns = cap_drift_device(&k->drift, issued + half);
	cap_drift_resume(&k->drift, k->base_ns, issued + half, half);
}
