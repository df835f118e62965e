/* SPDX-License-Identifier: Apache-2.0 */

/* Marks the iterations of a recorded program. C and C++. Needs no library (before glibc 2.34:
 * -ldl); has no effect without gpucapture. C needs -D_GNU_SOURCE.
 *
 *     for (...) {
 *             gputrace_mark_iteration();
 *             ...one iteration...
 *     }
 *
 * Call it on one thread of a process. Events before the first call belong to no iteration. */
#pragma once

#include <dlfcn.h>

static inline void gputrace_mark_iteration(void)
{
	static void (*mark)(void);
	static int searched;

	if (!searched) {
		void *found = dlsym(RTLD_DEFAULT, "gpucapture_mark_iteration");

		__builtin_memcpy(&mark, &found, sizeof(mark));
		searched = 1;
	}
	if (mark)
		mark();
}
