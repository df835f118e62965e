/* SPDX-License-Identifier: Apache-2.0 */

/* Operations whose times are outstanding: threads of the program add them, the library's thread
 * sees their events come. */
#pragma once

#include "capture/library/times/stamps.h"

#include <pthread.h>
#include <stdbool.h>

struct cap_timed_op {
	struct cap_timed_op *next;
	struct cap_device_clock *clock;
	struct cap_stamp *from, *to;   /* may be NULL: by the host's clock */
	struct cap_node_events *nodes; /* of a launch that is as many operations */
	uint64_t id;
	int64_t issued_ns, done_ns;
	int64_t end_ns;	  /* of one that is over, in device time */
	unsigned untimed; /* how many times there are not */
	bool came;	  /* its end was seen */
};

struct cap_timed {
	pthread_mutex_t lock; /* of this, and of all that times.c keeps */
	struct cap_timed_op *first, **last, *unused;
	unsigned n_ops;
	uint64_t untimed;
	int64_t now_ns;	 /* emulated: the latest moment that a program's thread has seen */
	unsigned ending; /* 0: not yet; else 1 + looks that were taken since */
};
extern struct cap_timed cap_timed;

/* Puts the times of all that have come, in order on a stream; streams do not hold each other up.
 * How many are outstanding. The library's thread. */
unsigned cap_timed_drain(void);
