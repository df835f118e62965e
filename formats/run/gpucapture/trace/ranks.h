/* SPDX-License-Identifier: Apache-2.0 */

/* The ranks of the trace: which process and GPU each is, and its number.
 *
 * A rank is a GPU of a process: two processes on one GPU are two ranks, and so are two GPUs of one
 * process, even of one thread. A call belongs to the rank of the GPU that it was made for.
 * Numbers come from NCCL's largest communicator, else from the launcher's environment (RANK,
 * SLURM_PROCID, OMPI_COMM_WORLD_RANK), else from the order in which processes began.
 * Calls of a process that used no GPU (a launcher that counted them) go with the first rank. */
#pragma once

#include "formats/run/gpucapture/process/process.h"

struct rec_rank {
	uint32_t process; /* its index */
	uint32_t number;
	int16_t device; /* -1: its process used none */
};

struct rec_ranks {
	struct rec_rank *ranks; /* owned; by number, or as they came */
	uint32_t n;
	uint32_t *of_device; /* owned: by process and device, the rank's index; REC_NONE */
	uint32_t n_devices;  /* of each process */
	size_t n_of_device;
	uint32_t *first;	  /* owned: by process, the rank of what belongs to no device */
	uint32_t *first_track;	  /* owned: by process, its first track in device_of_track */
	int16_t *device_of_track; /* owned: what threads work on once all is known */
};

/* `processes` by their index. 0 or -ENOMEM. */
int rec_ranks_find(struct rec_process *const *processes, size_t n, struct rec_ranks *ret);
void rec_ranks_done(struct rec_ranks *r);

/* The rank that an event is part of. */
uint32_t rec_rank_of(const struct rec_ranks *r, const struct rec_process *p,
		     const struct rec_event *e);
uint32_t rec_rank_of_device(const struct rec_ranks *r, const struct rec_process *p, int device);

/* A number of the rank's process, from 1 on, if another rank is a GPU of it, too; 0: none is. */
uint32_t rec_shared_process(const struct rec_ranks *r, uint32_t rank);
