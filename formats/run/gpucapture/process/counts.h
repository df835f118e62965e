/* SPDX-License-Identifier: Apache-2.0 */

/* Counters of a recorded process. */
#pragma once

#include <stdint.h>

struct rec_counts {
	uint64_t begun;	 /* calls that started, as counted by the rings */
	uint64_t calls;	 /* recorded */
	uint64_t ops;	 /* operations made of them */
	uint64_t nested; /* calls within other calls */
	uint64_t failed; /* with a result other than 0 */
	uint64_t raw;	 /* calls of functions without a description */
	uint64_t lost_records, lost_bytes;
	uint64_t ring_lost_records, ring_lost_bytes; /* as counted by the rings */
	uint64_t damaged;			     /* damaged spans of rings */
	uint64_t unended; /* calls that had not returned when their thread ended */
	uint64_t images;
	uint64_t graph_changes; /* changes of executable graphs that are recorded as calls only */
	uint64_t lost_collectives; /* collectives in graphs whose nodes the driver's report does not
				      contain */
	uint64_t graph_collectives; /* in graph launches, so without their own times */
	uint64_t steps; /* ranges that --digest=step took as iterations while recording */
	uint64_t without_parameters; /* kernel launches */
	uint64_t keyframe_pages;     /* stored */
	uint64_t keyframe_missing;   /* bytes */
	uint64_t late_digests;	     /* including contents: their operations were already written */
};
