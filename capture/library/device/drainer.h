/* SPDX-License-Identifier: Apache-2.0 */

/* A thread of the library's own that looks, a thousand times a second while there is something to
 * look for, whether devices have finished what hooks gave them. It has all signals blocked and a
 * ring of its own.
 */
#pragma once

#include <stdbool.h>

/* Calls `drain` on that thread from now on; it returns how much is still outstanding. At most 4.
 * 0, or -errno. */
int cap_drainer_add(unsigned (*drain)(void));

/* There is something outstanding. Any thread; costs a load when the thread is awake. */
void cap_drainer_wake(void);

/* Waits until `is_done`, which is asked now and after each look; given up when nothing of what is
 * outstanding has come for ten seconds, in which the machine let us look, and after a minute of
 * these. Not from `drain`. */
void cap_drainer_await(bool (*is_done)(void *context), void *context);

/* Waits as long until nothing is outstanding: when a process ends, not from `drain`. */
void cap_drainer_settle(void);

/* The driver is about to shut down: it is not asked anything any more, from now on. */
void cap_drainer_stop(void);
