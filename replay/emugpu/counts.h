/* SPDX-License-Identifier: Apache-2.0 */

/* Counts calls of public functions. If $GPUEMU_COUNTS is set when the library is loaded, the
 * process appends a line "LIBRARY FUNCTION COUNT" for each function to that file when it exits;
 * each library writes its lines at once. Counts calls from outside the library only, and not those
 * of a function's uncounted form (emu_FUNCTION, for recorders). gen/stubs.py generates the callers.
 * Any thread; a forked child starts at zero. */
#pragma once

#include <stdint.h>

struct emu_counts {
	const char *library;	  /* "libcuda.so.1" */
	const char *const *names; /* n of them */
	uint64_t *calls;	  /* of names[i] */
	unsigned n;
};

/* Calls are counted, or reported to an observer (observe.h). */
enum { EMU_COUNTED = 1, EMU_OBSERVED = 2 };
extern int emu_counting;

static inline void emu_count(uint64_t *calls)
{
	if (__builtin_expect(emu_counting, 0))
		__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

/* Called when the library is loaded and unloaded. `c` must remain valid. */
void emu_counts_start(const struct emu_counts *c);
void emu_counts_write(const struct emu_counts *c);
