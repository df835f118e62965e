/* SPDX-License-Identifier: Apache-2.0 */

/* Waits between the collectives of a GPU and its other operations in changed runs.
 *
 * OVERLAP_OFF: operations of the two sorts do not run beside each other. In the order in which they
 * were launched, each waits for those of the other sort before it.
 *
 * OVERLAP_FULL: only data dependencies remain. Those are the events for which an operation waits,
 * and the order of a stream. A collective that waits for an event does not wait for its launch as
 * well, and neither sort keeps the other from the multiprocessors or from the queue of launches.
 */
#pragma once

#include "replay/engine/compile.h"

/* OVERLAP_OFF. The points of the slice's threads have been made; those of its streams have not. */
void overlap_begin(struct compile *c);

/* OVERLAP_OFF: adds the waits of the operation that is event i; for rising i. */
void overlap_wait(struct compile *c, struct sim_point *point, size_t i);

/* OVERLAP_FULL: whether the changed run ignores an edge to the operation that is event i. */
int overlap_drops(const struct compile *c, const struct fmt_edge *e, size_t i);

/* OVERLAP_FULL: whether the operation does not wait for its launch. */
int overlap_unlaunched(const struct compile *c, size_t edge, size_t i);
