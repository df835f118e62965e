/* SPDX-License-Identifier: Apache-2.0 */

/* Collectives and clocks of all ranks, from the ends of operations
 * (formats/run/collectives/ends.h). Functions return 0 or -ENOMEM. */
#pragma once

#include "formats/run/collectives/ends.h"
#include "formats/run/infer/view.h"

/* The rows of all views, with times as the views have them. fmt_ends_done() in any case. */
int infer_ends_init(struct fmt_ends *e, const struct infer_view *views, uint32_t n_views);

/* Estimates how far each view's clock is ahead of the first one's and puts the times of `e` on the
 * first clock. The offset of the device's clock is included. */
int infer_ends_align(struct fmt_ends *e, const struct infer_view *views, int64_t *offset_ns);

/* The same exactly, from the ends of the n matched operations: constants.clock_ns of each view. */
int infer_clocks(const struct fmt_participation *p, size_t n, struct infer_view *views,
		 uint32_t n_views, const int64_t *offset_ns);

/* Whether operation `a` of a collective waits for operation `b` of it: for all, or only for its
 * peers. */
int infer_waits_for(const struct infer_view *views, const struct fmt_participation *a,
		    const struct fmt_participation *b);

/* Edges of rule "transfer" for collectives of several ranks; after infer_clocks(). */
int infer_transfers(const struct fmt_participation *p, size_t n, struct infer_view *views);

/* Fits latency and bandwidth to the transfers and stores them (network.h). comm_of[] says which
 * communicator of the names one of `p` is. */
int infer_network(const struct fmt_participation *p, size_t n, const struct infer_view *views,
		  const uint32_t *comm_of, struct fmt_names *names);
