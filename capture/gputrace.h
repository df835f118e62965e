/* SPDX-License-Identifier: Apache-2.0 */

/* For programs that want to say where their iterations begin: one function, nothing to link
 * (before glibc 2.34: -ldl). Without `gpucapture` around the program it does nothing.
 *
 *     for (...) {
 *             gputrace_mark_iteration();
 *             ...one step...
 *     }
 *
 * Any one thread of a process calls it; what comes before the first call is in no iteration. C and
 * C++; -D_GNU_SOURCE where the compiler does not define it. */
#pragma once

#include <dlfcn.h>

static inline void gputrace_mark_iteration(void)
{
	static void (*mark)(void);
	static int looked;

	if (!looked) {
		void *found = dlsym(RTLD_DEFAULT, "gpucapture_mark_iteration");

		__builtin_memcpy(&mark, &found, sizeof(mark));
		looked = 1;
	}
	if (mark)
		mark();
}
