/* SPDX-License-Identifier: Apache-2.0 */

/* What is counted of a recorded process. */
#pragma once

#include <stdint.h>

struct rec_counts {
	uint64_t begun;	 /* calls, as the rings count them */
	uint64_t calls;	 /* recorded */
	uint64_t ops;	 /* made of them */
	uint64_t nested; /* of the calls */
	uint64_t failed; /* with a result other than 0 */
	uint64_t raw;	 /* without a description */
	uint64_t lost_records, lost_bytes;
	uint64_t ring_lost_records, ring_lost_bytes; /* as the rings count them */
	uint64_t damaged;			     /* spans of rings that made no sense */
	uint64_t unended; /* calls that had not returned when their thread ended */
	uint64_t orphans; /* blobs of calls that never came */
	uint64_t images;
	uint64_t graph_changes;	   /* of executable graphs, that are in the calls only */
	uint64_t lost_collectives; /* of graphs, that the driver told anew without their nodes */
	uint64_t launched_collectives; /* of launches of graphs */
	uint64_t graph_collectives;    /* of launches that are one operation: without times */
	uint64_t graphs_whole; /* executable ones whose nodes should have times, and have not */
	uint64_t steps;	       /* ranges that were iterations while they were recorded */
	uint64_t without_parameters; /* launches */
	uint64_t keyframe_missing;   /* bytes */
	uint64_t late_digests;	     /* and contents: what they are of is written */
};
