/* SPDX-License-Identifier: Apache-2.0 */

/* What a program (program.h) consists of, so far. */
#pragma once

#include <stdint.h>

struct program_counts {
	uint64_t ops;
	uint64_t rootless; /* ops without dependency: they start with the rank's first call */
	uint64_t repeated; /* collectives with the number of an earlier one on their rank */

	/* Collectives whose duration contains waiting that is not known apart: they are matched
	 * with none, or a rank of their communicator is not in the trace. */
	uint64_t unmatched;
	int64_t unmatched_ns; /* their recorded durations */
	int64_t alone_ns;     /* of those that are matched with none */
	int64_t blocking_ns;  /* own costs of calls that wait */

	/* Collectives to which a change of latency or bandwidth applies, but whose latency is not
	 * known. */
	uint64_t no_latency;
	int64_t no_latency_ns; /* their recorded durations */
	uint64_t no_model;     /* kernels of which another GPU model knows nothing */
	int64_t no_model_ns;   /* their recorded durations */
};
