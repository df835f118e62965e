/* SPDX-License-Identifier: Apache-2.0 */

/* The clock of a context's device, and its relation to the clock of the recording.
 *
 * Device time counts from the first event of the clock. Anchors relate it to host time (drift.h):
 * events on an idle stream of the library's own, recorded at moments that the host knows. An
 * operation on an idle stream begins as long after it was issued as the first anchor did, so that
 * its start needs no event; the residual says how exact that is.
 *
 * The library's thread alone reads clocks, between cap_device_clock_enter() and _leave(). Other
 * threads begin a clock, which happens before anyone else sees it, and end it.
 */
#pragma once

#include "capture/library/times/drift.h"

#include <stdbool.h>
#include <stddef.h>

enum cap_device_clock_state {
	CAP_CLOCK_LIVE,
	CAP_CLOCK_BROKEN, /* the driver refused what the clock needs */
	CAP_CLOCK_ENDING, /* the context is being destroyed, or is not after all */
	CAP_CLOCK_ENDED,  /* the context is gone, and its events with it */
};

/* Never freed: whoever has operations of the context still refers to it. */
struct cap_device_clock {
	void *context;
	uint32_t state;	 /* enum cap_device_clock_state; atomic: see cap_device_clock_end() */
	void *stream;	 /* for anchors */
	void *probe;	 /* an event for anchors */
	void *base;	 /* the event that device times are measured from */
	int64_t base_ns; /* its device time */
	int64_t lag_ns;	 /* from issue to begin on an idle stream */
	int64_t begun_ns, anchored_ns;
	int64_t used_ns; /* the latest device time that was turned into host time */
	struct cap_drift drift;
	/* Of `drift`, for any thread; atomic. */
	int64_t residual_ns;
	double rate;
};

/* Anchors the clock of the context; the state says whether that succeeded. */
void cap_device_clock_begin(struct cap_device_clock *k, void *context);

static inline bool cap_device_clock_is(const struct cap_device_clock *k,
				       enum cap_device_clock_state state)
{
	return __atomic_load_n(&k->state, __ATOMIC_ACQUIRE) == state;
}

/* From the return of _end() on until _resume(), the library's thread leaves the clock and the
 * events of its context alone. Waits for it to do so; not from that thread. */
void cap_device_clock_end(struct cap_device_clock *k);
/* Whether the context was destroyed. */
void cap_device_clock_ended(struct cap_device_clock *k, bool is_destroyed);

/* ---- the library's thread */

/* Makes the clock's context current; the thread makes no other calls that need one. 0; -EAGAIN: the
 * context may be about to end; -EIO: there is nothing to be read any more. */
int cap_device_clock_enter(const struct cap_device_clock *k);
/* No clock is in use. */
void cap_device_clock_leave(void);

/* Anchors the clock again when that is due: after ten milliseconds, later every second. */
void cap_device_clock_follow(struct cap_device_clock *k, int64_t now_ns);

/* Device time of an event that was recorded: 1; 0: it was not reached yet; -EIO. */
int cap_device_clock_read(const struct cap_device_clock *k, void *event, int64_t *ret_ns);
/* The same of an event that must have been reached, with one call less. */
int cap_device_clock_read_reached(const struct cap_device_clock *k, void *event, int64_t *ret_ns);

/* An event that was reached at `ns` becomes what the next ones are measured from, if the old one is
 * a tenth of a second back: a driver tells time in floating-point milliseconds, which are exact to
 * nanoseconds only so far. Then *event becomes the old one. */
void cap_device_clock_rebase(struct cap_device_clock *k, void **event, int64_t ns);

/* Where nothing ran for ten seconds, what is measured from the old base is off by more than host
 * time is. Then a new base is recorded now, and placed by host time. */
bool cap_device_clock_is_stale(const struct cap_device_clock *k, int64_t issued_ns);
void cap_device_clock_renew(struct cap_device_clock *k);

/* When an operation began, in device time: issued at that moment, it waited until `from` for what
 * was before it on its stream. Neither behind its end nor before it was issued; if its end seems to
 * be before that, the clocks are less exact than they seem. */
int64_t cap_device_clock_begun(const struct cap_device_clock *k, int64_t issued_ns, int64_t from,
			       int64_t end);

/* Device time in the clock of the recording. */
int64_t cap_device_clock_host(struct cap_device_clock *k, int64_t device_ns);
