/* SPDX-License-Identifier: Apache-2.0 */

/* Notes of traced programs about other processes, after the control block on its page (ring.h).
 * Atomic: any number of processes at once. Safe in a signal handler, and in a child that shares its
 * parent's memory. */
#pragma once

#include "formats/raw/ring.h"

/* Programs that traced processes started, by any exec or spawn function, and that have not yet
 * joined the session. */
#define CAP_MAX_STARTED 7
#define CAP_STARTED_OFFSET 2048
struct cap_started {
	/* process that executes the program; -PID: of its parent; 0: the entry is free;
	 * CAP_STARTED_WRITING. Stored with release, after the other members. */
	int32_t pid;
	int32_t obstacle; /* reason why it cannot join: errno of the control page, or CAP_START_...
			   */
	char path[248];	  /* as passed to exec, truncated */
};

#define CAP_STARTED_WRITING INT32_MIN /* in pid: the entry is being written */
enum {
	CAP_STARTED_ENVIRONMENT = -1, /* its environment does not name the session */
	CAP_STARTED_LIBRARY = -2,     /* the library's file cannot be read */
};

static inline struct cap_started *cap_started_programs(struct cap_control *control)
{
	return (struct cap_started *)(void *)((char *)control + CAP_STARTED_OFFSET);
}

/* Children that were ended by a signal, noted by the parent that waited for them. The latest
 * CAP_MAX_KILLED are kept. */
#define CAP_MAX_KILLED 30
#define CAP_KILLED_OFFSET 3840
struct cap_killed {
	uint32_t n; /* total number of notes */
	uint32_t spare;
	uint64_t notes[CAP_MAX_KILLED]; /* pid, and the signal in the upper 32 bits; 0: none */
};

static inline struct cap_killed *cap_killed_children(struct cap_control *control)
{
	return (struct cap_killed *)(void *)((char *)control + CAP_KILLED_OFFSET);
}

static inline void cap_killed_add(struct cap_control *control, int32_t pid, int signal)
{
	struct cap_killed *d = cap_killed_children(control);
	uint32_t n = __atomic_fetch_add(&d->n, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&d->notes[n % CAP_MAX_KILLED], (uint64_t)signal << 32 | (uint32_t)pid,
			 __ATOMIC_RELAXED);
}

/* Returns the signal that ended the process; 0: unknown. */
static inline int cap_killed_signal(struct cap_control *control, int32_t pid)
{
	const struct cap_killed *d = cap_killed_children(control);
	uint32_t n = __atomic_load_n(&d->n, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < CAP_MAX_KILLED; i++) {
		uint64_t v =
			__atomic_load_n(&d->notes[(n - 1 - i) % CAP_MAX_KILLED], __ATOMIC_RELAXED);

		if ((uint32_t)v == (uint32_t)pid && v >> 32 < 128)
			return (int)(v >> 32);
	}
	return 0;
}
