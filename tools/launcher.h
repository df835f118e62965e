/* SPDX-License-Identifier: Apache-2.0 */

/* Determines from the environment which launcher started this process (torchrun, srun, mpirun or
 * gpureplay), its index, and the number of processes. Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LAUNCHER_MOST 100000 /* maximum number of processes */

/* Set by gpureplay for gpucapture: index, number of processes and run, like a launcher's
 * variables. */
#define LAUNCHER_PART_VARIABLE "GPUCAPTURE_PART"
#define LAUNCHER_PARTS_VARIABLE "GPUCAPTURE_PARTS"
#define LAUNCHER_RUN_VARIABLE "GPUCAPTURE_RUN"

struct launcher {
	uint32_t index, count; /* of processes; count 0: no launcher */
	int32_t local;	       /* index on this host; -1: unknown */
	char run[128];	       /* the launcher's name of the run; "": unknown */
};

/* `by_rank`: also uses RANK and WORLD_SIZE, before all others. Programs also set these variables
 * for their own purposes, so they do not prove that several processes record one run. */
void launcher_find(bool by_rank, struct launcher *ret);
