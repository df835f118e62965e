/* SPDX-License-Identifier: Apache-2.0 */

/* How often each public function was called: with $GPUEMU_COUNTS set when the library is loaded,
 * the process appends a line "LIBRARY FUNCTION COUNT" for each to that file when it ends, those of
 * one library in one write. Counted is what comes in from outside; what a library calls of its own
 * is not, nor what comes aside of the program: between gpuemu_aside_begin() and its end.
 * gen/stubs.py makes what calls this. Any thread; a child by fork starts at zero.
 */
#pragma once

#include <stdint.h>

struct emu_counts {
	const char *library;	  /* "libcuda.so.1" */
	const char *const *names; /* n of them */
	uint64_t *calls;	  /* of names[i] */
	unsigned n;
};

extern int emu_counting;
extern int (*emu_counts_aside)(void); /* of the calling thread; NULL: never */

static inline void emu_count(uint64_t *calls)
{
	if (__builtin_expect(emu_counting, 0) && !(emu_counts_aside && emu_counts_aside()))
		__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

/* When the library is loaded, and when it goes. `c` is kept by address. */
void emu_counts_start(const struct emu_counts *c);
void emu_counts_write(const struct emu_counts *c);
