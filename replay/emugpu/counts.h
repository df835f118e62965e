/* SPDX-License-Identifier: Apache-2.0 */

/* Counts calls of public functions: with $GPUEMU_COUNTS set when the library is loaded, the process
 * appends a line "LIBRARY FUNCTION COUNT" for each function to that file when it ends, all lines of
 * a library in one write. Calls from outside the library are counted; calls within the library, and
 * calls of a function's uncounted form (emu_FUNCTION, for recorders), are not. gen/stubs.py makes
 * the callers of this. Any thread; a forked child starts at zero.
 */
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

/* Called when the library is loaded and when it is unloaded. `c` is kept by address. */
void emu_counts_start(const struct emu_counts *c);
void emu_counts_write(const struct emu_counts *c);
