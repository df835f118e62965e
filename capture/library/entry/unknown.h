/* SPDX-License-Identifier: Apache-2.0 */

/* Calls without a description: a trampoline for each function records its name and six argument
 * registers. Any thread. */
#pragma once

/* The function to give to the program instead of `real`: a trampoline, the same one for the same
 * function; `real` itself if all trampolines are in use. */
void *cap_unknown(const char *name, void *real);

/* In a forked child: another thread of the parent may have held the lock. */
void cap_unknown_forked(void);
