/* SPDX-License-Identifier: Apache-2.0 */

/* Counts of the operations of a program (program.h), kept while it is compiled. */
#pragma once

#include <stdint.h>

struct program_counts {
	uint64_t ops;
	uint64_t rootless; /* ops without dependency: they start with the rank's first call */
	uint64_t repeated; /* collectives with the number of an earlier one on their rank */

	/* Collectives whose duration contains waits that cannot be separated: they have no matching
	 * collective, or a rank of their communicator is not in the trace. */
	uint64_t unmatched;
	int64_t unmatched_ns; /* their recorded durations */
	int64_t alone_ns;     /* durations of those without a matching collective */
	int64_t blocking_ns;  /* own costs of calls that wait */

	/* Collectives whose latency or bandwidth is changed, but whose latency is unknown. */
	uint64_t no_latency;
	int64_t no_latency_ns; /* their recorded durations */
	uint64_t no_model; /* kernels of which only the number of threads is known, for another GPU
			  model */
	int64_t no_model_ns; /* their recorded durations */
};
