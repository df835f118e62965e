/* SPDX-License-Identifier: Apache-2.0 */

/* What is still to come of calls and operations, hashed by the id of the call and the index of the
 * operation. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define REC_NONE UINT32_MAX
#define REC_NOTHING (UINT32_MAX - 1) /* in place of an event: what comes is dropped */

struct rec_wait {
	uint64_t id; /* 1 + id of the call; 0: free */
	uint32_t index;
	uint32_t event; /* of the process; REC_NONE: it was not looked at; REC_NOTHING: none */
	union {
		struct {
			int64_t start_ns, end_ns;
		};	   /* times whose operation was not looked at */
		int64_t n; /* records that are to come; less than 0: that came before it was said */
	};
};

struct rec_waits {
	struct rec_wait *slots; /* owned */
	size_t size, n;
};

void rec_waits_done(struct rec_waits *w);

/* The one with this id and index, until the next function; NULL. */
struct rec_wait *rec_waits_find(const struct rec_waits *w, uint64_t id, uint32_t index);
/* Adds it, or replaces the one with its id and index. 0 or -ENOMEM. */
int rec_waits_put(struct rec_waits *w, const struct rec_wait *made);
void rec_waits_drop(struct rec_waits *w, struct rec_wait *slot);

/* Each event is to[it] from now on; what is of one that is REC_NONE goes. 0 or -ENOMEM. */
int rec_waits_move(struct rec_waits *w, const uint32_t *to);
