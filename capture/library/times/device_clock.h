/* SPDX-License-Identifier: Apache-2.0 */

/* The clock of a context's device, and its offset from the clock of the recording.
 *
 * Device time counts from the first event of the clock. Anchors relate it to host time (drift.h):
 * an anchor is an event on an idle stream of the library, recorded at a known host time. An
 * operation on an idle stream is assumed to start as long after its call as the first anchor did,
 * so that its start needs no event; the residual is the accuracy of this assumption.
 *
 * Only the library's thread reads clocks, between cap_device_clock_enter() and _leave(). Other
 * threads create a clock before it is shared, and end it. */
#pragma once

#include "capture/library/times/drift.h"

#include <stdbool.h>
#include <stddef.h>

enum cap_device_clock_state {
	CAP_CLOCK_LIVE,
	CAP_CLOCK_BROKEN, /* a driver call that the clock needs has failed */
	CAP_CLOCK_ENDING, /* a call is about to destroy the context, but may fail */
	CAP_CLOCK_ENDED,  /* the context was destroyed, including its events */
};

/* Never freed: operations of the context refer to it. */
struct cap_device_clock {
	void *context;
	uint32_t state;	 /* enum cap_device_clock_state; atomic: see cap_device_clock_end() */
	void *stream;	 /* for anchors */
	void *probe;	 /* an event for anchors */
	void *base;	 /* device times are measured from this event */
	int64_t base_ns; /* device time of `base` */
	int64_t lag_ns;	 /* from the call to the start on an idle stream */
	int64_t begun_ns, anchored_ns;
	int64_t used_ns; /* latest device time that was converted to host time */
	struct cap_drift drift;
	/* Copies from `drift`, for any thread; atomic. */
	int64_t residual_ns;
	double rate;
};

/* Anchors the clock of the context. Sets the state CAP_CLOCK_BROKEN on failure. */
void cap_device_clock_begin(struct cap_device_clock *k, void *context);

static inline bool cap_device_clock_has_state(const struct cap_device_clock *k,
					      enum cap_device_clock_state state)
{
	return __atomic_load_n(&k->state, __ATOMIC_ACQUIRE) == state;
}

/* From the return of _end() until _ended() the library's thread does not use the clock or events of
 * its context. Waits for that thread; must not be called from it. */
void cap_device_clock_end(struct cap_device_clock *k);
/* Called after the call returned; is_destroyed: it has destroyed the context. */
void cap_device_clock_ended(struct cap_device_clock *k, bool is_destroyed);

/* ---- the library's thread */

/* Makes the clock's context current; the thread makes no other calls that need one. Returns 0;
 * -EAGAIN: the context may be about to end; -EIO: the context has ended, or is unusable. */
int cap_device_clock_enter(const struct cap_device_clock *k);
/* Makes no clock's context current. */
void cap_device_clock_leave(void);

/* Anchors the clock again if due: after ten milliseconds, later every second. */
void cap_device_clock_reanchor(struct cap_device_clock *k, int64_t now_ns);

/* Reads the device time of a recorded event. Returns 1; 0: the event was not reached yet; -EIO. */
int cap_device_clock_read(const struct cap_device_clock *k, void *event, int64_t *ret_ns);

/* If the base is older than 0.1 s, uses a reached event as the new base and stores the old base in
 * *event. Drivers return times as floating-point milliseconds, which are exact to nanoseconds for
 * up to 0.1 s. */
void cap_device_clock_rebase(struct cap_device_clock *k, void **event, int64_t ns);

/* Returns true if no operation ran for ten seconds: times measured from the old base are then less
 * accurate than host time. Renewing records a new base, whose device time is derived from host
 * time. */
bool cap_device_clock_is_stale(const struct cap_device_clock *k, int64_t issued_ns);
void cap_device_clock_renew(struct cap_device_clock *k);

/* Returns the start of an operation in device time. The operation was issued at issued_ns, and
 * waited until `from` for earlier operations on its stream. The result is not before `from`, so
 * that starts are in the order of the stream; nor before the issue; nor after `end`. Earlier limits
 * win if the clocks are inconsistent. */
int64_t cap_device_clock_op_start(const struct cap_device_clock *k, int64_t issued_ns, int64_t from,
				  int64_t end);

/* Returns the end of an operation that began at `from` or later, whose call returned at done_ns,
 * and whose event has the time `event`. If the stream was idle when the event was recorded, the
 * call had waited for the operation, which ended at done_ns; otherwise it ended at its event. */
int64_t cap_device_clock_end_at_return(const struct cap_device_clock *k, int64_t done_ns,
				       int64_t from, int64_t event);

/* Converts device time to the clock of the recording. */
int64_t cap_device_clock_to_host(struct cap_device_clock *k, int64_t device_ns);
