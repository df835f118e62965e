/* SPDX-License-Identifier: Apache-2.0 */

/* Collects times on the library's thread: reads events that were reached, in the order of each
 * stream, and records the times of the operations before them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Before the first operation. */
void cap_times_collect_begin(void);

/* Records the times that are known by now. Returns how many operations are outstanding. */
unsigned cap_times_collect(void);

/* ---- any thread */

/* One operation will have no times. */
void cap_times_miss(void);
/* Number of such operations. */
uint64_t cap_times_missed(void);

/* On an emulated GPU: the calling thread's clock shows `now_ns`. */
void cap_times_seen(int64_t now_ns);
/* Between a call with true and one with false, emulated devices run ahead of the program's threads,
 * as far as outstanding operations need. Any number of threads at once. */
void cap_times_hurry(bool hurries);
