/* SPDX-License-Identifier: Apache-2.0 */

/* A device's clock on the host's, though the two drift apart: straight lines through moments at
 * which both were read. What was told once stays so, and time never runs backwards: each line
 * begins where the one before it was left, and goes to where the newest anchor says that the clocks
 * will be in a second. No state beyond the struct; for one thread at a time.
 */
#pragma once

#include <stdint.h>

#define CAP_DRIFT_AIM_NS INT64_C(1000000000)

struct cap_drift_line {
	int64_t device_ns, host_ns; /* a moment on it */
	double rate;		    /* how much faster than the device's the host's clock runs */
};

struct cap_drift {
	/* As it is told: from now.device_ns on, and until there. */
	struct cap_drift_line now, before;
	struct cap_drift_line fit; /* as the clocks are, from the last anchor that it missed on */
	int64_t uncertain_ns;	   /* of that anchor */
	int64_t residual_ns;	   /* how far from it, at most, what was told was found to be */
};

/* The first anchor: both clocks at one moment, known to within uncertain_ns. */
void cap_drift_begin(struct cap_drift *d, int64_t device_ns, int64_t host_ns, int64_t uncertain_ns);

/* One more. Nothing after used_ns of the device has been asked for. An anchor that agrees with
 * those before it, to within uncertain_ns, tells nothing new. */
void cap_drift_anchor(struct cap_drift *d, int64_t device_ns, int64_t host_ns, int64_t uncertain_ns,
		      int64_t used_ns);

/* The device's clock was read anew, and was lost until then: it is what the line told of that
 * moment of the host, and runs as it did. */
void cap_drift_resume(struct cap_drift *d, int64_t device_ns, int64_t host_ns,
		      int64_t uncertain_ns);

/* The host's time of a moment of the device, and the other way round. */
int64_t cap_drift_host(const struct cap_drift *d, int64_t device_ns);
int64_t cap_drift_device(const struct cap_drift *d, int64_t host_ns);
