/* SPDX-License-Identifier: Apache-2.0 */

/* Converts between a device's clock and the host's, which drift apart: by straight lines through
 * anchors, times at which both were read. A conversion is never revised, and time is monotonic:
 * each line begins at the end of the previous one, and ends at the clocks' position in one second
 * according to the latest anchor. No state beyond the struct; one thread at a time. */
#pragma once

#include <stdint.h>

#define CAP_DRIFT_AIM_NS INT64_C(1000000000)

struct cap_drift_line {
	int64_t device_ns, host_ns; /* a point on it */
	double rate;		    /* host clock relative to the device clock, minus 1 */
};

struct cap_drift {
	/* In use: `now` from now.device_ns, `before` until then. */
	struct cap_drift_line now, before;
	struct cap_drift_line fit; /* the best estimate, from the last anchor that did not match the
				      previous one */
	int64_t uncertain_ns;	   /* of that anchor */
	int64_t residual_ns;	   /* largest known error of a conversion */
};

/* Sets the first anchor: the times of both clocks at one moment, with an error of at most
 * uncertain_ns. */
void cap_drift_begin(struct cap_drift *d, int64_t device_ns, int64_t host_ns, int64_t uncertain_ns);

/* Adds an anchor. No device time after used_ns has been converted yet. An anchor that agrees with
 * the earlier ones to within uncertain_ns changes nothing. */
void cap_drift_anchor(struct cap_drift *d, int64_t device_ns, int64_t host_ns, int64_t uncertain_ns,
		      int64_t used_ns);

/* Continues after the device's clock was restarted at the conversion of host_ns; the rate is
 * unchanged. */
void cap_drift_resume(struct cap_drift *d, int64_t device_ns, int64_t host_ns,
		      int64_t uncertain_ns);

/* Convert device time to host time, and host time to device time. */
int64_t cap_drift_to_host(const struct cap_drift *d, int64_t device_ns);
int64_t cap_drift_to_device(const struct cap_drift *d, int64_t host_ns);
