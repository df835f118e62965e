/* SPDX-License-Identifier: Apache-2.0 */

/* Which operations of different ranks are one collective, and how the clocks of the ranks differ.
 */
#pragma once

#include "formats/run/infer/row.h"

struct infer_match {
	uint32_t view, op;
	uint32_t comm;
	int64_t seq;
};

/* Numbers the collectives of every communicator in the order of their ends, but for those that the
 * recorder numbered. *ret has one entry for each operation in `rows`, by view and then by
 * operation; owned by the caller. */
int infer_match_all(const struct infer_rows *rows, const struct infer_view *views,
		    const int64_t *offset_ns, struct infer_match **ret);

/* A copy of m[0 .. n), the ranks of a collective side by side; owned by the caller. NULL: no
 * memory. */
struct infer_match *infer_match_by_collective(const struct infer_match *m, size_t n);

/* What the clock of each view is ahead of the first one's, before any collective is known: from the
 * starts of the iterations where hosts plainly have clocks of their own, and then from collectives
 * of the same name; 0 otherwise. The offset of the device's clock is part of it. */
int infer_offsets(const struct infer_rows *rows, const struct infer_view *views, uint32_t n_views,
		  int64_t *offset_ns);

/* The same exactly, from the ends of matched collectives: constants.clock_ns of each view. */
int infer_clocks(const struct infer_match *m, size_t n, struct infer_view *views, uint32_t n_views,
		 const int64_t *offset_ns);

/* Whether a part of a collective waits for another part of it: for all, or for its peers alone. */
int infer_waits_for(const struct infer_view *views, const struct infer_match *a,
		    const struct infer_match *b);

/* Edges of rule "transfer" for collectives of several ranks; after infer_clocks(). 0 or -ENOMEM. */
int infer_transfers(const struct infer_match *m, size_t n, struct infer_view *views);
