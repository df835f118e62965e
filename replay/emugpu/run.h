/* SPDX-License-Identifier: Apache-2.0 */

/* Memory that gpuemu shares with all processes of a run: the common zero of virtual time; the clock
 * of each process, so that a child starts at its parent's time; and totals, which survive killed
 * processes. gpuemu creates the memory as an unnamed file, passes its path in $GPUEMU_RUN, and
 * reads the totals after the run. Fields are written atomically, or by one process only. Untouched
 * pages use no memory. */
#pragma once

#include <stdint.h>

enum {
	EMU_RUN_PROCESSES = 4096,
	EMU_RUN_GPUS = 64,
	EMU_RUN_NOTES = 1024,
	EMU_RUN_COLLECTIVES = 64
};

/* The operations of a process on one GPU. */
struct emu_run_gpu {
	int64_t busy_ns, last_end_ns; /* virtual */
	uint64_t kernels, copies, copied_bytes;
	int64_t source_ns[4]; /* of kernels, by source of their durations: enum cost_source */
	char model[56];
};

enum emu_run_end {
	EMU_RUN_GOING,	/* or its end was not observed */
	EMU_RUN_EXITED, /* it called exit() */
	EMU_RUN_WAITED, /* `status` is that of waitpid(2) */
};

struct emu_run_process {
	uint64_t pid;	   /* 0: unused */
	uint64_t started;  /* start time; with pid, identifies the process */
	int64_t now_ns;	   /* the latest clock of its threads */
	int64_t cpu_ns;	   /* CPU time of the process when now_ns was set */
	int64_t driver_ns; /* CLOCK_MONOTONIC at its first cuInit(); 0: not called */
	int64_t ended_ns;  /* CLOCK_MONOTONIC; 0: unknown */
	uint32_t calls;	   /* 1: it has called the driver, so its calls advance its clock */
	uint32_t end;	   /* enum emu_run_end */
	int32_t status;
	char name[20];			       /* as in /proc/PID/comm */
	struct emu_run_gpu gpus[EMU_RUN_GPUS]; /* by gpuemu's numbers */
};

enum emu_note_kind {
	EMU_NOTE_REFUSED, /* calls of unsupported public functions, or unsupported uses of functions
			   */
	EMU_NOTE_NO_KERNEL,  /* launches of a kernel without a host kernel */
	EMU_NOTE_SKIPPED,    /* launches that a host kernel did not compute */
	EMU_NOTE_READ,	     /* reads of data that a launch of both kinds should have written */
	EMU_NOTE_ARITHMETIC, /* real time of large products, in nanoseconds */
	EMU_NOTE_KINDS,
};

struct emu_run_note {
	uint32_t state; /* EMU_NOTE_FREE and so on */
	uint32_t kind;	/* enum emu_note_kind */
	uint64_t hash;	/* of kind, library and full name */
	uint64_t count;
	char library[40];
	char name[448]; /* truncated if longer */
};

enum { EMU_NOTE_FREE, EMU_NOTE_CLAIMED, EMU_NOTE_SET };

struct emu_run {
	uint32_t n_processes; /* processes[n_processes ...] were never used */
	uint32_t lost_notes;  /* notes dropped because all were in use */
	int64_t zero_ns;      /* CLOCK_MONOTONIC at the zero of virtual time */
	uint32_t no_data;     /* 1: no data is moved or computed */
	uint8_t padding[44];
	/* Latest clock of the processes that have entered the collective call of MPI with this
	 * number, modulo EMU_RUN_COLLECTIVES. The upper 16 bits are the number without the modulus.
	 */
	uint64_t collectives[EMU_RUN_COLLECTIVES];
	struct emu_run_note notes[EMU_RUN_NOTES];
	struct emu_run_process processes[EMU_RUN_PROCESSES];
};
