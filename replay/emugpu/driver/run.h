/* SPDX-License-Identifier: Apache-2.0 */

/* The calling process's row in the memory of a run (replay/emugpu/run.h). Any thread. */
#pragma once

#include "replay/emugpu/run.h"

/* Returns the calling process's row, creating it if needed. now_ns is set to the start time of the
 * process: its parent's clock, or its own clock before exec(). NULL without gpuemu, or if the run
 * has too many processes. `per_ns`: virtual nanoseconds per nanosecond of CPU time. */
struct emu_run_process *emu_run_join(double per_ns);

/* Returns the row of a forked child that starts at now_ns. */
struct emu_run_process *emu_run_join_at(int64_t now_ns);

/* Records that now_ns of a process without calls was just set. */
void emu_run_mark(struct emu_run_process *p);

/* Records how a process of the run ended: `status` is that of waitpid(2). Exported for
 * threads/processes.c. */
int64_t gpuemu_process_ended(int32_t pid, int status);
