/* SPDX-License-Identifier: Apache-2.0 */

/* Matches collectives and clocks of all ranks by the ends of operations
 * (formats/run/collectives/by_ends.h). Functions return 0 or -ENOMEM. */
#pragma once

#include "formats/run/collectives/by_ends.h"
#include "formats/run/infer/view.h"

/* Makes the rows of all views, with the views' times. Call fmt_ends_done() even after an error. */
int infer_match_init(struct fmt_ends *e, const struct infer_view *views, uint32_t n_views);

/* Estimates the clock of each view's device relative to the first one's, and converts the times of
 * `e` to the first clock. */
int infer_match_align(struct fmt_ends *e, const struct infer_view *views, struct fmt_clock *clocks);

/* Measures the clocks exactly, from the ends of the n matched operations: sets the clock of each
 * view, and constants.clock_ns, its offset at the beginning. */
int infer_measure_clocks(const struct fmt_participation *p, size_t n, struct infer_view *views,
			 uint32_t n_views, struct fmt_clock *clocks);

/* Returns 1 if operation `a` of a collective waits for operation `b`: `a` waits for all
 * participants, or `b` is a peer. */
int infer_waits_for(const struct infer_view *views, const struct fmt_participation *a,
		    const struct fmt_participation *b);

/* Adds edges of rule "transfer" for collectives of several ranks; after infer_measure_clocks(). */
int infer_add_transfers(const struct fmt_participation *p, size_t n, struct infer_view *views);

/* Fits latency and bandwidth to the transfers and stores them (network.h). comm_of[] maps
 * communicators of `p` to those of the names. */
int infer_fit_network(const struct fmt_participation *p, size_t n, const struct infer_view *views,
		      const uint32_t *comm_of, struct fmt_names *names);
