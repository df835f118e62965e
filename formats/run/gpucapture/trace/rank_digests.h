/* SPDX-License-Identifier: Apache-2.0 */

/* Digests and contents of a process as those of the operations that they belong to. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/rank_events.h"

/* Adds those of operations that are in the run to the parts that these are in. 0 or -ENOMEM. */
int rec_rank_digests(struct rec_process *p, const struct rec_rank_events *places);
