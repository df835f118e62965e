/* SPDX-License-Identifier: Apache-2.0 */

/* Converts between a device's clock and the host's, which drift apart: straight lines through
 * anchors, moments at which both were read. A conversion is never revised, and time never runs
 * backwards: each line begins where the one before it was left, and ends where the clocks will be
 * in a second according to the latest anchor. No state beyond the struct; one thread at a time.
 */
#pragma once

#include <stdint.h>

#define CAP_DRIFT_AIM_NS INT64_C(1000000000)

struct cap_drift_line {
	int64_t device_ns, host_ns; /* a moment on it */
	double rate;		    /* host clock relative to the device clock, less 1 */
};

struct cap_drift {
	/* In use: from now.device_ns on, and before that moment. */
	struct cap_drift_line now, before;
	struct cap_drift_line fit; /* the best estimate, from the last anchor that it missed */
	int64_t uncertain_ns;	   /* of that anchor */
	int64_t residual_ns;	   /* largest known error of a conversion */
};

/* The first anchor: both clocks at one moment, known to within uncertain_ns. */
void cap_drift_begin(struct cap_drift *d, int64_t device_ns, int64_t host_ns, int64_t uncertain_ns);

/* Another anchor. No device time after used_ns has been converted yet. An anchor that agrees with
 * the earlier ones to within uncertain_ns changes nothing. */
void cap_drift_anchor(struct cap_drift *d, int64_t device_ns, int64_t host_ns, int64_t uncertain_ns,
		      int64_t used_ns);

/* The device's clock was set anew, to the conversion of host_ns; its rate is unchanged. */
void cap_drift_resume(struct cap_drift *d, int64_t device_ns, int64_t host_ns,
		      int64_t uncertain_ns);

/* Host time of a device time, and the other way round. */
int64_t cap_drift_host(const struct cap_drift *d, int64_t device_ns);
int64_t cap_drift_device(const struct cap_drift *d, int64_t host_ns);
