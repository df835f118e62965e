/* SPDX-License-Identifier: Apache-2.0 */

/* The calling process's row in the memory of a run (run.h above this folder). Any thread. */
#pragma once

#include "replay/emugpu/run.h"

/* The calling process's row, made where it has none, with now_ns set to the time at which the
 * process starts: its parent's time, or its own before it executed another program. NULL outside a
 * run, and where a run has too many processes. `per_ns`: virtual nanoseconds for one of CPU time.
 */
struct emu_run_process *emu_run_join(double per_ns);

/* The same for a forked child that starts at now_ns. */
struct emu_run_process *emu_run_join_at(int64_t now_ns);

/* A process without calls has just set its now_ns. */
void emu_run_mark(struct emu_run_process *p);

/* Notes how a process of the run ended: `status` as waitpid(2) gives it. Exported for
 * threads/processes.c. */
void gpuemu_process_ended(int32_t pid, int status);
