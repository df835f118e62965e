/* SPDX-License-Identifier: Apache-2.0 */

/* The clock of a context's device, and its relation to the clock of the recording.
 *
 * Device time counts from the first event of the clock. Anchors relate it to host time (drift.h):
 * an anchor is an event on an idle stream of the library, recorded at a known host time. An
 * operation on an idle stream is assumed to start as long after its call as the first anchor did,
 * so that its start needs no event; the residual is the accuracy of that.
 *
 * Only the library's thread reads clocks, between cap_device_clock_enter() and _leave(). Other
 * threads begin a clock before it is shared, and end it.
 */
#pragma once

#include "capture/library/times/drift.h"

#include <stdbool.h>
#include <stddef.h>

enum cap_device_clock_state {
	CAP_CLOCK_LIVE,
	CAP_CLOCK_BROKEN, /* the driver refused a call that the clock needs */
	CAP_CLOCK_ENDING, /* a call is about to destroy the context, and may fail */
	CAP_CLOCK_ENDED,  /* the context was destroyed, and its events with it */
};

/* Never freed: operations of the context refer to it. */
struct cap_device_clock {
	void *context;
	uint32_t state;	 /* enum cap_device_clock_state; atomic: see cap_device_clock_end() */
	void *stream;	 /* for anchors */
	void *probe;	 /* an event for anchors */
	void *base;	 /* device times are measured from this event */
	int64_t base_ns; /* its device time */
	int64_t lag_ns;	 /* from the call to the start on an idle stream */
	int64_t begun_ns, anchored_ns;
	int64_t used_ns; /* the latest device time that was converted to host time */
	struct cap_drift drift;
	/* Of `drift`, for any thread; atomic. */
	int64_t residual_ns;
	double rate;
};

/* Anchors the clock of the context. On failure the state is CAP_CLOCK_BROKEN. */
void cap_device_clock_begin(struct cap_device_clock *k, void *context);

static inline bool cap_device_clock_is(const struct cap_device_clock *k,
				       enum cap_device_clock_state state)
{
	return __atomic_load_n(&k->state, __ATOMIC_ACQUIRE) == state;
}

/* From the return of _end() until _ended() the library's thread does not use the clock or events of
 * its context. Waits for that thread; must not be called from it. */
void cap_device_clock_end(struct cap_device_clock *k);
/* The call has returned; is_destroyed: it has destroyed the context. */
void cap_device_clock_ended(struct cap_device_clock *k, bool is_destroyed);

/* ---- the library's thread */

/* Makes the clock's context current; the thread makes no other calls that need one. 0; -EAGAIN: the
 * context may be about to end; -EIO: the context has ended, or is unusable. */
int cap_device_clock_enter(const struct cap_device_clock *k);
/* The thread uses no clock. */
void cap_device_clock_leave(void);

/* Anchors the clock again if it is due: after ten milliseconds, later every second. */
void cap_device_clock_follow(struct cap_device_clock *k, int64_t now_ns);

/* Device time of a recorded event: 1; 0: it was not reached yet; -EIO. */
int cap_device_clock_read(const struct cap_device_clock *k, void *event, int64_t *ret_ns);
/* The same for an event that was reached, with one call less. */
int cap_device_clock_read_reached(const struct cap_device_clock *k, void *event, int64_t *ret_ns);

/* Makes an event that was reached at `ns` the base, and the old base *event, if the base is a tenth
 * of a second old: drivers return floating-point milliseconds, which are exact to nanoseconds up to
 * there. */
void cap_device_clock_rebase(struct cap_device_clock *k, void **event, int64_t ns);

/* If nothing ran for ten seconds, times measured from the old base are less accurate than host
 * time: the clock is stale. Renewing it records a new base, whose device time is derived from host
 * time. */
bool cap_device_clock_is_stale(const struct cap_device_clock *k, int64_t issued_ns);
void cap_device_clock_renew(struct cap_device_clock *k);

/* The start of an operation in device time: it was issued at issued_ns, and waited until `from` for
 * earlier operations on its stream. Not after its end, nor before it was issued; the latter wins if
 * the clocks contradict each other. */
int64_t cap_device_clock_begun(const struct cap_device_clock *k, int64_t issued_ns, int64_t from,
			       int64_t end);

/* Converts device time to the clock of the recording. */
int64_t cap_device_clock_host(struct cap_device_clock *k, int64_t device_ns);
