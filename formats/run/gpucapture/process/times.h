/* SPDX-License-Identifier: Apache-2.0 */

/* The times of operations on their way to these: a time may come before the operation was looked
 * at, and comes long after it as a rule. Only what still waits for the other is kept. One thread.
 */
#pragma once

#include "formats/run/gpucapture/process/waits.h"

#include <stdbool.h>

#define REC_NO_TIME (-1) /* the duration of an operation whose times did not come */

struct rec_times {
	struct rec_waits waits;
	bool none; /* nobody asked for them: nothing waits */
};

struct rec_process;

/* The operation's times go into the event. Both return 0 or -ENOMEM. */
int rec_times_come(struct rec_process *p, uint64_t id, uint32_t index, int64_t start_ns,
		   int64_t end_ns);
/* The call has no such operation: what comes of it is dropped. */
int rec_times_ignore(struct rec_process *p, uint64_t id, uint32_t index);
/* The operation, by its number among the process's events, is there. */
int rec_times_await(struct rec_process *p, uint32_t event);

/* First reading: the collective, by its number among the process's, waits for the times of the
 * operation with that id and index. */
int rec_times_await_planned(struct rec_process *p, uint32_t collective, uint64_t id,
			    uint32_t index);

/* The number of operations without times. */
uint64_t rec_times_missing(const struct rec_process *p);

/* The first operation from `from` on that waits for its times, and may get them; REC_NONE. */
uint32_t rec_times_first(const struct rec_process *p, uint32_t from);
