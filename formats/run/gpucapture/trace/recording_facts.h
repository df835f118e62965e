/* SPDX-License-Identifier: Apache-2.0 */

/* Facts of a recording: host, versions, devices, lost events. Names of facts of the whole trace
 * begin with "capture.". One thread. */
#pragma once

#include "formats/run/gpucapture/trace/iterations.h"
#include "formats/run/gpucapture/trace/ranks.h"
#include "formats/run/gpucapture/trace/segment.h"
#include "formats/trace/origin.h"

/* Functions return 0 or a negative errno. */

/* Adds the host and the clock of the recording; no clock if the driver was emulated. */
int rec_origin_put(const struct fmt_origin *origin, struct rec_process *const *processes, size_t n,
		   struct fmt_names *names);

/* If iterations were found by repetition, adds this fact and the number of repetitions in each. */
int rec_repetition_put(struct fmt_names *names, const struct rec_iterations *iterations,
		       uint32_t n);

int rec_facts_put(struct rec_process *const *processes, size_t n, const struct rec_ranks *ranks,
		  const struct rec_trace_counts *result, const struct rec_window *window,
		  struct fmt_names *names);
