/* SPDX-License-Identifier: Apache-2.0 */

/* Infers the dependencies of a recorded run: what each operation and each call waited for.
 * doc/emulation.md has the rules, their reasons and sources.
 *
 * Input: the events of all ranks of a run, ordered as in struct fmt_run_rank, with their
 * iterations. Output: the edges of each rank (by `to`) and its collectives (by event), which the
 * run owns; rules, communicators and each rank's constants (constants.h) in run->names. Events are
 * not changed.
 *
 * An edge's lag is a constant of its rule or the host's own time, never a wait. Recorded starts of
 * operations decide which edges exist, and are not needed after that.
 *
 * A recorded synchronisation (FMT_SYNC) is used as recorded, under the rule name with the suffix
 * "-recorded". Dependencies that it does not determine are inferred. Time and memory are linear in
 * the number of events, except for sorting. No state is kept between calls; a run must not be
 * shared by threads.
 *
 * Returns 0 or a negative errno (-ENOMEM, -EOVERFLOW for more than 2^32 - 2 events of a rank).
 * After an error the run is unchanged, except for added names. */
#pragma once

#include "formats/run/run.h"

int fmt_infer(struct fmt_run *run);
/* Infers within a later segment of a run, with the constants that the first segment added to the
 * names. Finds no dependencies on operations of earlier segments. */
int fmt_infer_segment(struct fmt_run *run);
