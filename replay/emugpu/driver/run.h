/* SPDX-License-Identifier: Apache-2.0 */

/* The processes of one run of `gpuemu`, in memory that they share: one zero of virtual time for all
 * of them, the moment at which gpuemu started the program, and where each of them is, so that a
 * child starts where its parent is, whether it was forked, spawned or executed.
 *
 * The memory is the file $GPUEMU_RUN, which has no name of its own and ends with gpuemu. Any
 * thread.
 */
#pragma once

#include <stdint.h>

struct emu_run_process {
	uint64_t pid;	  /* 0: nobody's */
	uint64_t started; /* with pid, names the process for good */
	int64_t now_ns;	  /* the latest clock of its threads */
	int64_t cpu_ns;	  /* CPU time of the process at which it had come there */
	uint32_t calls;	  /* it has called the driver: its clock moves with its calls */
	uint8_t padding[28];
};

/* The calling process's, made where it has none, with now_ns set to the time at which it goes on
 * from here; for good. NULL outside a run, and where a run has too many processes. `per_ns`:
 * virtual nanoseconds for one of CPU time. */
struct emu_run_process *emu_run_join(double per_ns);

/* The same for a child that goes on at now_ns after a fork. */
struct emu_run_process *emu_run_join_at(int64_t now_ns);

/* A process without calls has just set its now_ns. */
void emu_run_mark(struct emu_run_process *p);
