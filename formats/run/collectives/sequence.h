/* SPDX-License-Identifier: Apache-2.0 */

/* Rows compared by their order alone, whatever the clocks say: the collectives of one communicator
 * follow each other in the same order on all ranks, and each ends on all ranks at nearly the same
 * time. One thread. */
#pragma once

#include "formats/run/collectives/ends.h"

/* The alignment of two rows: operation k of the first is operation k + shift of the second. */
struct fmt_sequence {
	int64_t shift;
	int64_t ahead_ns; /* by which ends of the second row are later, most often */
	int64_t apart_ns; /* the mean distance from that; more if operations remain unmatched */
	uint32_t n;	  /* operations that were compared */
};

/* The shift at which they agree best; recordings begin or end at nearly the same collective. 0 if
 * they do not: names differ, the rows hardly overlap, or some ends do not agree. */
int fmt_sequences_compare(const struct fmt_ends *e, const struct fmt_ends_row *a,
			  const struct fmt_ends_row *b, struct fmt_sequence *ret);

/* Corrects ahead_ns[], by how much the clock of each rank is ahead: from the rows that agree best.
 * A rank keeps its guess if no row ties it to one of a lower number. 0 or -ENOMEM. */
int fmt_sequences_clocks(const struct fmt_ends *e, int64_t *ahead_ns);
