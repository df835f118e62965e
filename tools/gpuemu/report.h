/* SPDX-License-Identifier: Apache-2.0 */

/* The totals of a run, read from the memory that its processes shared (replay/emugpu/run.h). Not
 * thread-safe. */
#pragma once

#include "base/text.h"
#include "replay/emugpu/run.h"

#include <stddef.h>

struct gpuemu_gpu {
	struct emu_run_gpu total;
	uint32_t n_processes; /* 0: not used */
};

/* A process that used GPUs and did not exit. */
struct gpuemu_end {
	uint64_t pid;
	const char *name;
	int signal; /* signal that killed it, or one of these */
};

enum { GPUEMU_RUNNING = -1, GPUEMU_UNSEEN = -2 };

struct gpuemu_report {
	const struct emu_run *run; /* not owned */
	struct gpuemu_gpu gpus[EMU_RUN_GPUS];
	const struct emu_run_note **notes; /* by kind, library and name */
	size_t n_notes, notes_cap;
	struct gpuemu_end *ends; /* by signal */
	size_t n_ends, ends_cap;
	uint32_t n_processes; /* number of processes that used GPUs */
	int64_t virtual_ns;   /* of the longest process */
	int64_t real_ns;
};

/* Records that a child of gpuemu has ended: `status` is that of waitpid(2). */
void gpuemu_report_ended(struct emu_run *run, uint64_t pid, int status);

/* Sums the totals of `run`, which must stay mapped until gpuemu_report_done(). Returns 0 or
 * -ENOMEM. */
int gpuemu_report_read(const struct emu_run *run, struct gpuemu_report *ret);
void gpuemu_report_done(struct gpuemu_report *r);

void gpuemu_report_text(const struct gpuemu_report *r, struct text *out);
void gpuemu_report_json(const struct gpuemu_report *r, struct text *out);

/* Appends a line for each kind of problem that occurred: killed processes, unsupported functions,
 * kernels without a host kernel. */
void gpuemu_report_remarks(const struct gpuemu_report *r, struct text *out);
