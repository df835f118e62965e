/* SPDX-License-Identifier: Apache-2.0 */

/* Notes of traced programs about other processes, after the control block on its page (ring.h).
 * Atomic: any number of processes at once. Safe in a signal handler, and in a child that shares its
 * parent's memory. */
#pragma once

#include "formats/raw/ring.h"

/* Programs that traced processes started, by any exec or spawn function, and that have not yet
 * joined the session. */
#define CAP_STARTS 7
#define CAP_STARTS_OFFSET 2048
struct cap_start {
	/* process that executes the program; -PID: of its parent; 0: the entry is free;
	 * CAP_START_WRITING. Stored with release, after the other members. */
	int32_t pid;
	int32_t obstacle; /* reason why it cannot join: errno of the control page, or CAP_START_...
			   */
	char path[248];	  /* as passed to exec, truncated */
};

#define CAP_START_WRITING INT32_MIN /* in pid: the entry is being written */
enum {
	CAP_START_ENVIRONMENT = -1, /* its environment does not name the session */
	CAP_START_LIBRARY = -2,	    /* the library's file cannot be read */
};

static inline struct cap_start *cap_starts(struct cap_control *control)
{
	return (struct cap_start *)(void *)((char *)control + CAP_STARTS_OFFSET);
}

/* Children that were ended by a signal, noted by the parent that waited for them. The latest
 * CAP_DEATHS are kept. */
#define CAP_DEATHS 30
#define CAP_DEATHS_OFFSET 3840
struct cap_deaths {
	uint32_t n; /* total number of notes */
	uint32_t spare;
	uint64_t of[CAP_DEATHS]; /* pid, and the signal in the upper 32 bits; 0: none */
};

static inline struct cap_deaths *cap_deaths(struct cap_control *control)
{
	return (struct cap_deaths *)(void *)((char *)control + CAP_DEATHS_OFFSET);
}

static inline void cap_note_death(struct cap_control *control, int32_t pid, int signal)
{
	struct cap_deaths *d = cap_deaths(control);
	uint32_t n = __atomic_fetch_add(&d->n, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&d->of[n % CAP_DEATHS], (uint64_t)signal << 32 | (uint32_t)pid,
			 __ATOMIC_RELAXED);
}

/* Returns the signal that ended the process; 0: unknown. */
static inline int cap_signal_of(struct cap_control *control, int32_t pid)
{
	const struct cap_deaths *d = cap_deaths(control);
	uint32_t n = __atomic_load_n(&d->n, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < CAP_DEATHS; i++) {
		uint64_t v = __atomic_load_n(&d->of[(n - 1 - i) % CAP_DEATHS], __ATOMIC_RELAXED);

		if ((uint32_t)v == (uint32_t)pid && v >> 32 < 128)
			return (int)(v >> 32);
	}
	return 0;
}
