/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/stamps.h"

#include "capture/library/cu.h"
#include "capture/library/hook.h"

#include <errno.h>
#include <stdlib.h>

#define TRIES 4
#define REBASE_NS 100000000

static struct cap_stamp *new_stamp(struct cap_device_clock *k)
{
	struct cap_stamp *s = k->pool;

	if (s) {
		k->pool = s->next;
	} else {
		s = calloc(1, sizeof(*s));
		if (s && cap_cu.cuEventCreate(&s->event, 0)) {
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

/* Issues an event to our own, idle stream and waits for it: the moments around it. */
static int probe(const struct cap_device_clock *k, void *event, int64_t *ret_issued_ns,
		 int64_t *ret_width_ns)
{
	*ret_issued_ns = cap_now_ns();
	if (cap_cu.cuEventRecord(event, k->stream) || cap_cu.cuEventSynchronize(event))
		return -EIO;
	*ret_width_ns = cap_now_ns() - *ret_issued_ns;
	return 0;
}

int cap_clock_begin(struct cap_device_clock *k, void *context)
{
	int64_t issued, width;
	struct cap_stamp *s;

	*k = (struct cap_device_clock){.context = context, .lag_ns = INT64_MAX};
	if (cap_cu.cuStreamCreate(&k->stream, CU_NON_BLOCKING))
		return -EIO;
	for (int i = 0; i < TRIES; i++) {
		s = new_stamp(k);
		if (!s || probe(k, s->event, &issued, &width) < 0)
			return -EIO;
		if (width / 2 >= k->lag_ns) {
			cap_stamp_drop(k, s);
			continue;
		}
		cap_stamp_drop(k, k->base);
		k->base = s;
		k->anchor_host_ns = issued;
		k->lag_ns = k->residual_ns = width / 2;
	}
	return 0;
}

static int elapsed_ns(const struct cap_device_clock *k, void *event, int64_t *ret)
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

int cap_stamp_ns(struct cap_device_clock *k, const struct cap_stamp *s, int64_t *ret_ns)
{
	int r = cap_cu.cuEventQuery(s->event);

	if (r == CU_NOT_READY)
		return 0;
	return r ? -EIO : elapsed_ns(k, s->event, ret_ns);
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
