/* SPDX-License-Identifier: Apache-2.0 */

/* The iterations of the ranks of a recorded run: as the program marked them; else from its ranges,
 * where they are numbered; else from the repetition of what it launches; else one for all. */
#pragma once

#include "capture/recorder/ranks.h"
#include "formats/run_part.h"

/* Fills the iterations of each rank of the run. *ret: 0, or where some were found by repetition,
 * how many repetitions each of these is: more than one where there are very many of very little. 0,
 * or a negative errno. */
int rec_steps_find(struct fmt_run *run, const struct rec_ranks *ranks,
		   const struct fmt_run_part *parts, size_t *ret);
