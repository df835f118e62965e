/* SPDX-License-Identifier: Apache-2.0 */

/* Collects the times of operations, on the library's thread: reads the events that were reached, in
 * the order of each stream, and records when the operations before them ran. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Before the first operation. */
void cap_times_collect_begin(void);

/* Records the times that are known by now. How many operations have none yet. */
unsigned cap_times_collect(void);

/* ---- any thread */

/* One operation will have no times. */
void cap_times_miss(void);
/* How many there are. */
uint64_t cap_times_missed(void);

/* Emulated time: the calling thread has come to this moment. */
void cap_times_seen(int64_t now_ns);
/* From the first call to the second one, emulated devices run ahead of the program's threads, as
 * far as what is outstanding needs; more than one thread may hurry. */
void cap_times_hurry(bool hurries);
