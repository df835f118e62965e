/* SPDX-License-Identifier: Apache-2.0 */

/* The times of operations on their way to these: a time may come before the operation was looked
 * at, and comes long after it as a rule. Only what still waits for the other is kept. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REC_NO_TIME (-1) /* the duration of an operation whose times did not come */

struct rec_time {
	uint64_t id; /* 1 + id of the call; 0: free */
	uint32_t index;
	uint32_t event;		  /* the operation; REC_NONE: it was not looked at */
	int64_t start_ns, end_ns; /* where it was not */
};

struct rec_times {
	struct rec_time *slots; /* owned: hashed by id and index */
	size_t size, n;
	bool came; /* any did */
};

struct rec_process;

void rec_times_done(struct rec_times *t);

/* The operation's times go into the event. Both return 0 or -ENOMEM. */
int rec_times_come(struct rec_process *p, uint64_t id, uint32_t index, int64_t start_ns,
		   int64_t end_ns);
/* The operation, by its number among the process's events, is there. */
int rec_times_await(struct rec_process *p, uint32_t event);

/* The first operation from `from` on that waits for its times, and may get them; REC_NONE. */
uint32_t rec_times_first(const struct rec_process *p, uint32_t from);
/* Each event is to[it] from now on; nobody waits any more for one that is REC_NONE. 0 or -ENOMEM.
 */
int rec_times_move(struct rec_times *t, const uint32_t *to);
