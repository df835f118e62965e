/* SPDX-License-Identifier: Apache-2.0 */

/* The ranks of the trace: process, GPU and number of each.
 *
 * A rank is a GPU of a process: two processes on one GPU are two ranks, and so are two GPUs of one
 * process, even if one thread uses both. A call belongs to the rank of the GPU that it was made
 * for. Numbers come from NCCL's largest communicator, else from the launcher's environment (RANK,
 * SLURM_PROCID, OMPI_COMM_WORLD_RANK), else from the order in which processes began. A process that
 * launched no operations has a rank for each GPU on which it allocated memory; calls of a process
 * that allocated none, for example a launcher that counted GPUs, belong to the first rank. */
#pragma once

#include "formats/run/gpucapture/process/process.h"

struct rec_rank {
	uint32_t process; /* index */
	uint32_t number;
	int16_t device; /* -1: its process used no GPU */
};

struct rec_ranks {
	struct rec_rank *ranks; /* owned; sorted by number after rec_ranks_find() */
	uint32_t n;
	uint32_t *of_device; /* owned: by process and device, the index of the rank; REC_NONE */
	uint32_t n_devices;  /* per process */
	size_t n_of_device;
	uint32_t *first;	  /* owned: by process, the rank of calls without a device */
	uint32_t *first_track;	  /* owned: by process, its first track in device_of_track */
	int16_t *device_of_track; /* owned: the device of each thread, from the whole run */
};

/* `processes` are sorted by index. Returns 0 or -ENOMEM. */
int rec_ranks_find(struct rec_process *const *processes, size_t n, struct rec_ranks *ret);
void rec_ranks_done(struct rec_ranks *r);

/* Return the rank that an event belongs to; the rank of a device. */
uint32_t rec_rank_of(const struct rec_ranks *r, const struct rec_process *p,
		     const struct rec_event *e);
uint32_t rec_rank_of_device(const struct rec_ranks *r, const struct rec_process *p, int device);

/* Returns the start of the call that launched the event, or of the event itself. */
static inline int64_t rec_launch_time(const struct rec_process *p, const struct rec_event *e)
{
	return e->call == REC_NONE ? e->start_ns : p->events[e->call].start_ns;
}

/* Returns a number > 0 of the rank's process if the process has several ranks, else 0. */
uint32_t rec_shared_process(const struct rec_ranks *r, uint32_t rank);
