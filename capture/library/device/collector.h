/* SPDX-License-Identifier: Apache-2.0 */

/* The library's thread, which collects results from devices: a thousand times a second while some
 * are outstanding, else a hundred times, so that no other thread has to wake it. It blocks all
 * signals and has a ring of its own.
 */
#pragma once

#include <stdbool.h>

/* Calls `collect` on that thread from now on; it returns how many results are outstanding. At most
 * 4 functions. 0, or -errno. */
int cap_collector_add(unsigned (*collect)(void));

/* Waits until `is_done`, which is called now and after each round of the thread. Gives up if
 * nothing was collected for ten seconds in which the thread could run, or after a minute of such
 * time. Not from `collect`. */
void cap_collector_await(bool (*is_done)(void *context), void *context);

/* Waits like this until nothing is outstanding: when a process ends, not from `collect`. */
void cap_collector_finish(void);

/* The driver is about to shut down: the thread stops calling it. */
void cap_collector_stop(void);
