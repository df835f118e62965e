/* SPDX-License-Identifier: Apache-2.0 */

/* The library's thread, which collects results from devices. It wakes up a thousand times a second
 * while results are outstanding, else a hundred times, so that no other thread has to wake it. It
 * blocks all signals and has its own ring. */
#pragma once

#include <stdbool.h>

/* Makes that thread call `collect`, which returns the number of outstanding results. At most 4
 * functions. Returns 0, or -errno. */
int cap_collector_add(unsigned (*collect)(void));

/* Waits until `is_done` returns true; it is called now and after each round of the thread. Gives up
 * if nothing was collected for ten seconds in which the thread could run, or after a minute of such
 * time. Must not be called from `collect`. */
void cap_collector_await(bool (*is_done)(void *context), void *context);

/* Waits in the same way until nothing is outstanding, when a process exits. Must not be called from
 * `collect`. */
void cap_collector_finish(void);

/* Stops the thread's driver calls, because the driver is about to shut down. */
void cap_collector_stop(void);

/* Starts a detached thread of the library, which takes no signals and no emulated time. Returns 0
 * or a negative errno. */
int cap_start_thread(void (*run)(void));
