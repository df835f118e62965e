/* SPDX-License-Identifier: Apache-2.0 */

/* Outstanding data of calls and operations, hashed by the id of the call. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define REC_NONE UINT32_MAX
#define REC_DROPPED (UINT32_MAX - 1) /* in place of an event: the data is dropped */

struct rec_pending_entry {
	uint64_t id;	/* 1 + id of the call; 0: free */
	uint32_t event; /* of the process; REC_NONE: not added yet; REC_DROPPED: none */
	union {
		struct {
			int64_t start_ns, end_ns;
		};	   /* times that arrived before their operation */
		int64_t n; /* records outstanding; negative: records that arrived before their
			      announcement */
	};
};

struct rec_pending_table {
	struct rec_pending_entry *slots; /* owned */
	size_t size, n;
};

void rec_pending_done(struct rec_pending_table *w);

/* Returns the entry with this id, valid until the next call of any function; NULL: none. */
struct rec_pending_entry *rec_pending_find(const struct rec_pending_table *w, uint64_t id);
/* Returns the entry with this id, or a free one for it (id 0), valid as above; NULL: out of
 * memory. */
struct rec_pending_entry *rec_pending_get(struct rec_pending_table *w, uint64_t id);
void rec_pending_set(struct rec_pending_table *w, struct rec_pending_entry *slot,
		     const struct rec_pending_entry *made);
void rec_pending_remove(struct rec_pending_table *w, struct rec_pending_entry *slot);

/* Prefetches the entry with this id. */
void rec_pending_fetch(const struct rec_pending_table *w, uint64_t id);

/* Renumbers the event of each entry by to[], and drops entries whose event becomes REC_NONE. */
void rec_pending_renumber(struct rec_pending_table *w, const uint32_t *to);
