/* SPDX-License-Identifier: Apache-2.0 */

/* A process between two segments of its run: which of its events nothing more will be learnt of,
 * and forgetting what is written. One thread. */
#pragma once

#include "formats/run/gpucapture/process/process.h"

/* The first event from `from` on of which something is still to come: its times, or what the call
 * around it was for. Those before it are settled, or given up. */
uint32_t rec_process_complete(const struct rec_process *p, uint32_t from);

/* Forgets the events of which gone[] says so, an operation always with its call, and what belongs
 * to them; the others get new numbers. 0 or a negative errno: then the process is unusable. */
int rec_process_carry(struct rec_process *p, const bool *gone);
