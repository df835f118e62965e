/* SPDX-License-Identifier: Apache-2.0 */

/* Which GPUs of which processes are a rank of the trace, and its number.
 *
 * A rank is a GPU of a process. GPUs that one thread works on, or of which one waits for an event
 * of the other, depend on each other in ways that a trace keeps within a rank: they are one.
 * Numbers come from NCCL's largest communicator, else from the launcher's environment (RANK,
 * SLURM_PROCID, OMPI_COMM_WORLD_RANK), else from the order in which processes began.
 * What a process without work for a GPU called (a launcher that counted them) goes with the first
 * rank. */
#pragma once

#include "capture/recorder/process/process.h"

struct rec_rank {
	const struct rec_process *process;
	uint32_t number;
	int16_t device; /* the first of its devices; -1: none did any work */
};

struct rec_ranks {
	struct rec_rank *ranks; /* owned; by number, or as they came */
	uint32_t n;
	uint32_t *of_device; /* owned: by process and device, the rank's index; REC_NONE */
	uint32_t n_devices;  /* of each process */
	size_t n_of_device;
	uint32_t *first; /* owned: by process, the rank of what belongs to no device */
};

/* `processes` by their index. 0 or -ENOMEM. */
int rec_ranks_find(struct rec_process *const *processes, size_t n, struct rec_ranks *ret);
void rec_ranks_done(struct rec_ranks *r);

/* Puts what was found now in the order of what was found before, with the numbers that ranks had
 * then; new ones behind, with their number where nobody has it. -EAGAIN: one is no rank any more.
 */
int rec_ranks_follow(struct rec_ranks *found, const struct rec_ranks *before);

/* The rank that an event is part of. */
uint32_t rec_rank_of(const struct rec_ranks *r, const struct rec_process *p,
		     const struct rec_event *e);
uint32_t rec_rank_of_device(const struct rec_ranks *r, const struct rec_process *p, int device);
