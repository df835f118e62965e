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

/* On an emulated GPU: reports that the calling thread's clock is at `now_ns`. */
void cap_times_report_now(int64_t now_ns);
/* Between a call with true and one with false, emulated devices may run ahead of the program's
 * threads, as far as outstanding operations need. Any number of threads at once. */
void cap_times_run_ahead(bool hurries);
