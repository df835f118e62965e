/* SPDX-License-Identifier: Apache-2.0 */

/* Named counters that are reported at the end of a run. The run's memory contains them (run.h), so
 * that counts of killed processes survive. Without gpuemu they are in the library's memory and
 * printed to stderr when the process exits. Any thread. */
#pragma once

#include "replay/emugpu/run.h"

/* Returns the counter of `name`, created by the first call; never NULL. Keep the address if the
 * counter is used often. `library`: "libcuda.so.1". */
uint64_t *emu_note(enum emu_note_kind kind, const char *library, const char *name);

static inline void emu_note_count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Returns the memory of the run, mapped by the first call; NULL without gpuemu. */
struct emu_run *emu_run_map(void);
