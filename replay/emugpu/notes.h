/* SPDX-License-Identifier: Apache-2.0 */

/* Counters by name of what a run should report at its end: in the run's memory (run.h), so that
 * the counts of a killed process are kept. Outside a run, in the memory of the library: printed to
 * stderr when the process ends. Any thread.
 */
#pragma once

#include "replay/emugpu/run.h"

/* The counter of `name`, made at the first call; never NULL. Keep the address where the counter is
 * used often. `library`: "libcuda.so.1". */
uint64_t *emu_note(enum emu_note_kind kind, const char *library, const char *name);

static inline void emu_note_count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* The memory of the run, mapped at the first call; NULL outside a run. */
struct emu_run *emu_run_map(void);
