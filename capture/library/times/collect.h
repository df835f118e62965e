/* SPDX-License-Identifier: Apache-2.0 */

/* Collects times on the library's thread: reads reached events, in the order of each stream, and
 * records the times of the operations before them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Called before the first operation. */
void cap_times_collect_begin(void);

/* Records the times known so far. Returns the number of outstanding operations. */
unsigned cap_times_collect(void);

/* ---- any thread */

/* Counts one operation without times. */
void cap_times_count_missed(void);
/* Returns the number of such operations. */
uint64_t cap_times_missed(void);
