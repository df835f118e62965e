/* SPDX-License-Identifier: Apache-2.0 */

/* Aligns the clocks of the hosts of a run. Recordings of the same boot and time namespace share a
 * clock. An all-to-all collective ends at practically the same time on each rank, which gives the
 * offset between clocks. Hosts without a common collective are aligned by CLOCK_REALTIME. One
 * thread. */
#pragma once

#include "formats/run/clocks.h"
#include "formats/run/gpucapture/trace/plan.h"
#include "formats/trace/origin.h"

struct rec_hosts {
	struct fmt_origin *origins; /* owned: of each recording */
	uint32_t *clock_of;	    /* owned: the clock of each recording */
	size_t n;
	struct fmt_clock *clocks;     /* owned; the first, of rank 0, is the reference */
	uint32_t n_clocks, n_aligned; /* n_aligned: aligned by collectives */
	struct fmt_clocks_error error;
	uint64_t out_of_order; /* collectives that still end on one host before they begin on
				  another */
};

void rec_hosts_done(struct rec_hosts *h);

/* Finds and aligns the clocks of h->n recordings, whose origins are set. Returns 0 or -ENOMEM. */
int rec_hosts_align(struct rec_hosts *h, const struct rec_plan *plan,
		    struct rec_process *const *processes, size_t n, const struct fmt_names *names);

/* Adds the method and the result of the alignment to the facts of the trace. Returns 0 or a
 * negative errno. */
int rec_hosts_put(const struct rec_hosts *h, const struct rec_plan *plan,
		  struct rec_process *const *processes, struct fmt_names *names);
