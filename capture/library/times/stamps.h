/* SPDX-License-Identifier: Apache-2.0 */

/* Moments on streams of one context: events of a pool, their times on the clock of the recording.
 *
 * Device time counts from the first event. Anchors say where it is on the host's clock (drift.h):
 * events on an idle stream of our own, recorded by the host at known moments. An operation that is
 * issued to an idle stream begins as long after it was issued as the first anchor did, so its start
 * needs no event; how long that is, is known to within the residual. For one thread at a time, but
 * where said otherwise.
 */
#pragma once

#include "capture/library/times/drift.h"

#include <stdbool.h>
#include <stddef.h>

struct cap_stamp {
	struct cap_stamp *next; /* in the pool */
	void *event;
	int refs;
};

struct cap_device_clock {
	void *context;
	void *stream; /* our own, for anchors */
	struct cap_stamp *pool;
	int broken;	/* the context is gone, or has no clock */
	unsigned n_ops; /* whose times are to come */
	/* By the drainer only, once the clock has begun. */
	struct cap_stamp *probe; /* for anchors */
	struct cap_stamp *base;	 /* device times are measured from it */
	int64_t base_ns;	 /* its device time */
	int64_t lag_ns;		 /* from issue to the moment itself, on an idle stream */
	int64_t begun_ns, anchored_ns;
	int64_t used_ns; /* the latest device time that was put on the host's clock */
	struct cap_drift drift;
};

/* Anchors the clock. 0, or -EIO. */
int cap_clock_begin(struct cap_device_clock *k, void *context);
/* Makes its context current on the drainer's thread, which uses no other calls that need one. 0 or
 * -EIO. */
int cap_clock_enter(const struct cap_device_clock *k);
/* Anchors it anew when that is due: after ten milliseconds, later every second. From the drainer
 * only, with the context current. */
void cap_clock_follow(struct cap_device_clock *k, int64_t now_ns);

/* A stamp of the stream as it is now, with one reference; NULL when there is none to be had. */
struct cap_stamp *cap_stamp_take(struct cap_device_clock *k, void *stream);
void cap_stamp_drop(struct cap_device_clock *k, struct cap_stamp *s);

/* Device time of a stamp: 1, 0 not yet, or -EIO. From the drainer only, with the context current.
 */
int cap_stamp_ns(struct cap_device_clock *k, const struct cap_stamp *s, int64_t *ret_ns);
/* The same of an event of that context that has come, if it ever does. */
int cap_clock_event_ns(const struct cap_device_clock *k, void *event, int64_t *ret_ns);
/* `s` has come, and may be what the next ones are measured from: floating-point milliseconds are
 * exact to nanoseconds for a tenth of a second only. Takes over a reference of the base's. */
int cap_clock_rebase(struct cap_device_clock *k, struct cap_stamp *s, int64_t ns,
		     struct cap_stamp **ret_old);

/* Where nothing ran for long, the base is one of now, placed by the host's clock: what was measured
 * from the old one would be off by more. Takes over a reference; with the context current. */
bool cap_clock_is_stale(const struct cap_device_clock *k, int64_t issued_ns);
void cap_clock_renew(struct cap_device_clock *k);

/* When work began, in device time, that was issued at that moment and waited until `from` for what
 * was before it on its stream: not behind its end, nor before it was issued. Where it seems to have
 * ended before that, the two clocks were not set as well as they seem. */
int64_t cap_clock_begun(const struct cap_device_clock *k, int64_t issued_ns, int64_t from,
			int64_t end);

/* Device time on the clock of the recording. */
static inline int64_t cap_clock_host(struct cap_device_clock *k, int64_t device_ns)
{
	if (device_ns > k->used_ns)
		k->used_ns = device_ns;
	return cap_drift_host(&k->drift, device_ns);
}
