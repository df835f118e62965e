/* SPDX-License-Identifier: Apache-2.0 */

/* Reads from the environment which launcher started this process (torchrun, srun, mpirun or
 * gpureplay), and as which of how many processes. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LAUNCHER_MOST 100000 /* processes */

/* Set by gpureplay for gpucapture: index, number and run, as of a launcher. */
#define LAUNCHER_PART_VARIABLE "GPUCAPTURE_PART"
#define LAUNCHER_PARTS_VARIABLE "GPUCAPTURE_PARTS"
#define LAUNCHER_RUN_VARIABLE "GPUCAPTURE_RUN"

struct launcher {
	uint32_t index, count; /* of processes; count 0: there was no launcher */
	int32_t local;	       /* index on this host; -1: not known */
	char run[128];	       /* what the launcher calls the run; "": not known */
};

/* `by_rank`: RANK and WORLD_SIZE count too, and first. Programs set these for their own purposes as
 * well, so they do not say that several processes record one run. */
void launcher_find(bool by_rank, struct launcher *ret);
