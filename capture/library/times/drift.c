/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/times/drift.h"

#define SLOWEST (-0.5) /* device times remain distinct even if the host's clock stopped */

static int64_t round_ns(double ns)
{
	return (int64_t)(ns + (ns < 0 ? -0.5 : 0.5));
}

static int64_t host_on_line(const struct cap_drift_line *l, int64_t device_ns)
{
	int64_t since = device_ns - l->device_ns;

	return l->host_ns + since + round_ns(l->rate * (double)since);
}

/* A line through two moments; the second is later on the device. */
static struct cap_drift_line line_through(int64_t device_ns, int64_t host_ns, int64_t to_device_ns,
					  int64_t to_host_ns)
{
	int64_t device = to_device_ns - device_ns, host = to_host_ns - host_ns;
	double rate = (double)(host - device) / (double)device;

	return (struct cap_drift_line){device_ns, host_ns, rate < SLOWEST ? SLOWEST : rate};
}

void cap_drift_begin(struct cap_drift *d, int64_t device_ns, int64_t host_ns, int64_t uncertain_ns)
{
	d->now = d->before = d->fit = (struct cap_drift_line){device_ns, host_ns, 0};
	d->residual_ns = d->uncertain_ns = uncertain_ns;
}

void cap_drift_resume(struct cap_drift *d, int64_t device_ns, int64_t host_ns, int64_t uncertain_ns)
{
	d->now = d->before = d->fit = (struct cap_drift_line){device_ns, host_ns, d->fit.rate};
	d->uncertain_ns = uncertain_ns;
	if (uncertain_ns > d->residual_ns)
		d->residual_ns = uncertain_ns;
}

static int64_t distance(int64_t a, int64_t b)
{
	return a < b ? b - a : a - b;
}

void cap_drift_anchor(struct cap_drift *d, int64_t device_ns, int64_t host_ns, int64_t uncertain_ns,
		      int64_t used_ns)
{
	int64_t from = used_ns > d->now.device_ns ? used_ns : d->now.device_ns;
	int64_t current = host_on_line(&d->now, from), aim = device_ns + CAP_DRIFT_AIM_NS;
	int64_t off = distance(host_ns, host_on_line(&d->fit, device_ns)) + uncertain_ns;

	if (device_ns <= d->fit.device_ns || aim <= from)
		return;
	if (off > 2 * uncertain_ns) {
		d->fit = line_through(d->fit.device_ns, d->fit.host_ns, device_ns, host_ns);
		d->fit.device_ns = device_ns;
		d->fit.host_ns = host_ns;
		d->uncertain_ns = off = uncertain_ns;
	} else if (uncertain_ns > 2 * d->uncertain_ns) {
		off = d->uncertain_ns; /* the thread that took the reading was delayed */
	}
	off += distance(current, host_on_line(&d->fit, from));
	d->residual_ns = off > d->residual_ns ? off : d->residual_ns;
	d->before = d->now;
	d->now = line_through(from, current, aim, host_on_line(&d->fit, aim));
}

int64_t cap_drift_to_host(const struct cap_drift *d, int64_t device_ns)
{
	return host_on_line(device_ns < d->now.device_ns ? &d->before : &d->now, device_ns);
}

int64_t cap_drift_to_device(const struct cap_drift *d, int64_t host_ns)
{
	const struct cap_drift_line *l = host_ns < d->now.host_ns ? &d->before : &d->now;

	return l->device_ns + round_ns((double)(host_ns - l->host_ns) / (1 + l->rate));
}
