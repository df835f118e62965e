/* SPDX-License-Identifier: Apache-2.0 */

/* Moments on streams of one context: events of a pool, their times on the clock of the recording.
 *
 * Device time counts from an anchor: an event on an idle stream, recorded by the host at a known
 * moment. An operation that is issued to an idle stream begins as long after it was issued as the
 * anchor did, so its start needs no event; how long that is, is known to within the residual.
 * For one thread at a time, but where said otherwise.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cap_stamp {
	struct cap_stamp *next; /* in the pool */
	void *event;
	int refs;
};

struct cap_device_clock {
	void *context;
	void *stream; /* our own, for the anchor */
	struct cap_stamp *pool;
	struct cap_stamp *base;	     /* device times are measured from it; by the drainer only */
	int64_t base_ns;	     /* its device time: 0 is the anchor */
	int64_t anchor_host_ns;	     /* when the anchor was issued */
	int64_t lag_ns, residual_ns; /* from issue to the moment itself, and how well known */
	int broken;		     /* the context is gone */
};

/* Anchors the clock; the context is current. 0, or -EIO. */
int cap_clock_begin(struct cap_device_clock *k, void *context);

/* A stamp of the stream as it is now, with one reference; NULL when there is none to be had. */
struct cap_stamp *cap_stamp_take(struct cap_device_clock *k, void *stream);
void cap_stamp_drop(struct cap_device_clock *k, struct cap_stamp *s);

/* Device time of a stamp: 1, 0 not yet, or -EIO. From the drainer only, with the context current.
 */
int cap_stamp_ns(struct cap_device_clock *k, const struct cap_stamp *s, int64_t *ret_ns);
/* `s` has come, and may be what the next ones are measured from: floating-point milliseconds are
 * exact to nanoseconds for a tenth of a second only. Takes over a reference of the base's. */
int cap_clock_rebase(struct cap_device_clock *k, struct cap_stamp *s, int64_t ns,
		     struct cap_stamp **ret_old);

/* When work that is issued at that moment to an idle stream begins, in device time; and device time
 * on the clock of the recording. */
static inline int64_t cap_clock_issued(const struct cap_device_clock *k, int64_t host_ns)
{
	return host_ns - k->anchor_host_ns;
}

static inline int64_t cap_clock_host(const struct cap_device_clock *k, int64_t device_ns)
{
	return device_ns + k->anchor_host_ns + k->lag_ns;
}
