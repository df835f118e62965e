/* SPDX-License-Identifier: Apache-2.0 */

/* The processes of gpureplay that a launcher started, each for one process of the recording. They
 * exchange what they need as files in a folder beside the output, on a file system that all hosts
 * see:
 *
 *     join-3        what process 3 calls itself: a random number
 *     go            by process 0: its number, which names the session, and those that joined
 *     SESSION/      of this run; whatever else lies in the folder is of an earlier one
 *         here-3    process 3 has found the session
 *         value-*   values for other processes (replay/device/share.h)
 *         ended-3   exit status and counts of process 3
 *         run       the executed run
 *
 * For main threads. */
#pragma once

#include "replay/device/share.h"
#include "tools/launcher.h"

#include <limits.h>

struct launched {
	struct launcher by;
	char folder[PATH_MAX - 64], session[PATH_MAX - 32];
};

/* Waits until all processes have joined. `output`: the path of the trace that is to be made. 0 or a
 * negative errno. */
int launched_begin(struct launched *l, const char *output);

/* Tells process 0 how this process ended. 0 or a negative errno. */
int launched_end(const struct launched *l, int status, const struct rex_counts *counts);

/* For process 0: waits for the others, whose counts are added to *counts. Returns the first exit
 * status that is not 0, of process *index; else 0. */
int launched_wait(const struct launched *l, uint32_t *index, struct rex_counts *counts);
