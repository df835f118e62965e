/* SPDX-License-Identifier: Apache-2.0 */

/* Clocks of the hosts of a run. Recordings of the same boot and time namespace share a clock. A
 * collective of all to all ends at practically the same moment on each of its ranks, and so tells
 * how far their clocks are apart. If hosts have none in common, their CLOCK_REALTIME is used. One
 * thread. */
#pragma once

#include "formats/run/clocks.h"
#include "formats/run/gpucapture/trace/plan.h"
#include "formats/trace/origin.h"

struct rec_hosts {
	struct fmt_origin *origins; /* owned: of each recording */
	uint32_t *clock_of;	    /* owned: the clock of each recording */
	size_t n;
	struct fmt_clock *clocks; /* owned; the first is the reference: that of the first rank */
	uint32_t n_clocks, n_aligned; /* n_aligned: by collectives */
	struct fmt_clocks_error error;
	uint64_t out_of_order; /* collectives that would end on a host before they begin on another
				*/
};

void rec_hosts_done(struct rec_hosts *h);

/* Finds and aligns the clocks of the recordings, h->n of them, whose origins are set. 0 or
 * -ENOMEM. */
int rec_hosts_align(struct rec_hosts *h, const struct rec_plan *plan,
		    struct rec_process *const *processes, size_t n, const struct fmt_names *names);

/* Writes how they were aligned into the facts of the trace. 0 or a negative errno. */
int rec_hosts_put(const struct rec_hosts *h, const struct rec_plan *plan,
		  struct rec_process *const *processes, struct fmt_names *names);
