/* SPDX-License-Identifier: Apache-2.0 */

/* The library's own thread, which collects what devices have finished: a thousand times a second
 * while something is outstanding, else a hundred times, so that nobody has to wake it. It blocks
 * all signals and has a ring of its own.
 */
#pragma once

#include <stdbool.h>

/* Calls `collect` on that thread from now on; it returns how much is outstanding. At most 4. 0, or
 * -errno. */
int cap_collector_add(unsigned (*collect)(void));

/* Waits until `is_done`, which is asked now and after each round of the thread; gives up if nothing
 * that is outstanding was collected for ten seconds in which the thread could run, and after a
 * minute of these. Not from `collect`. */
void cap_collector_await(bool (*is_done)(void *context), void *context);

/* Waits as long until nothing is outstanding: when a process ends, not from `collect`. */
void cap_collector_settle(void);

/* The driver is about to shut down: the thread calls it no more. */
void cap_collector_stop(void);
