/* SPDX-License-Identifier: Apache-2.0 */

/* Explains a recorded run: why did each operation start when it did, and what did each call wait
 * for? doc/emulation.md has the rules, their reasons and sources.
 *
 * In:  the events of all ranks of a run, ordered as in struct fmt_run_rank, with their iterations.
 * Out: of each rank its edges (by `to`) and its collectives (by event), both allocated here and
 *      the run's own from then on; in run->names the rules, the communicators, and the constants
 *      of each rank (constants.h). Events are not changed.
 *
 * An edge's lag is a constant of its rule or the host's own time, never a wait. Recorded starts of
 * operations decide which edges there are, and are not needed after that.
 *
 * A synchronisation that the recorder saw (FMT_SYNC) is taken as it says, under the same rule name
 * with the suffix "-recorded"; what it leaves open is inferred. Time and memory are linear in the
 * number of events, but for sorting. Nothing is kept between calls; the run belongs to one thread.
 *
 * Returns 0 or a negative errno (-ENOMEM, -EOVERFLOW beyond 2^32 - 2 events of a rank), and then
 * the run is as before, but for what names has got.
 */
#pragma once

#include "formats/run/run.h"

int fmt_infer(struct fmt_run *run);
/* The same for a later segment of a run whose first one was inferred: uses the constants that the
 * names have. Nothing of this segment waits for operations of an earlier one. */
int fmt_infer_more(struct fmt_run *run);
