/* SPDX-License-Identifier: Apache-2.0 */

/* Calls without a description: a trampoline for each function records its name and six argument
 * registers. Any thread. */
#pragma once

/* Returns the function to give to the program instead of `real`: a trampoline, always the same for
 * the same function; `real` itself if all trampolines are in use. */
void *cap_unknown_trampoline(const char *name, void *real);

/* Called in a forked child: resets the lock, which another thread of the parent may have held. */
void cap_unknown_after_fork(void);
