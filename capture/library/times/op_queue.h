/* SPDX-License-Identifier: Apache-2.0 */

/* The operations of one stream whose times are outstanding, in stream order.
 *
 * Any thread takes the next slot with one compare-and-swap, records the slot's event, and publishes
 * the slot. One consumer, the library's thread, reads published slots from the front. Each slot has
 * its own event. The owner of the queue adds slots in chunks; a chunk whose slots were all removed
 * can be added again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAP_OPS_PER_CHUNK 256u
#define CAP_CHUNKS_PER_QUEUE 4096u /* at most: 1,048,576 operations */

enum cap_timed_kind {
	CAP_TIMED_EVENT,  /* the event is recorded after the operation */
	CAP_TIMED_RETURN, /* the same; the call may have waited, until done_ns, for the operation */
	CAP_TIMED_LOST,	  /* the event could not be recorded */
	/* Not an operation: an event before the next operation; an event that could not be
	 * recorded. */
	CAP_TIMED_MARK,
	CAP_TIMED_NO_MARK,
};

static inline bool cap_timed_is_mark(enum cap_timed_kind what)
{
	return what >= CAP_TIMED_MARK;
}

struct cap_timed_op {
	void *event;	 /* belongs to the slot */
	uint64_t id;	 /* of the call */
	uint64_t issued; /* start of the call, in the clock of its ring */
	int64_t done_ns; /* in the clock of the recording */
	uint8_t what;	 /* enum cap_timed_kind */
	bool is_ticks;	 /* `issued` counts ticks of the processor */
	bool published;	 /* atomic; publishes the rest to the consumer */
};

struct cap_op_chunk {
	struct cap_op_chunk *next; /* for its owner, while it is in no queue */
	struct cap_timed_op ops[CAP_OPS_PER_CHUNK];
};

struct cap_op_queue {
	/* Numbers of slots, from 0; atomic. */
	uint64_t head;	   /* the next slot to take */
	uint64_t limit;	   /* end of the slots that may be taken; publishes their chunks */
	uint8_t apart[64]; /* the consumer's words are on another cache line */
	uint64_t tail;	   /* the next slot to remove */
	/* Protected by the owner's lock. */
	uint64_t end;					   /* end of the last chunk */
	uint64_t most;					   /* slots in use at once */
	struct cap_op_chunk *chunks[CAP_CHUNKS_PER_QUEUE]; /* by number of slot */
};

/* ---- any thread */

/* Takes the next slot; cap_timed_publish() must follow. Returns NULL if no slot is free. */
struct cap_timed_op *cap_op_queue_reserve(struct cap_op_queue *q);
void cap_timed_publish(struct cap_timed_op *op);

/* Returns the number of slots that are taken and not removed. */
uint64_t cap_op_queue_used(const struct cap_op_queue *q);

/* ---- one thread at a time: the owner's lock is held */

/* Initialises a queue in which at most `most` slots are in use at once. */
void cap_op_queue_init(struct cap_op_queue *q, uint64_t most);
/* Returns the number of slots that can be taken now. */
uint64_t cap_op_queue_free(const struct cap_op_queue *q);
/* Adds the slots of a chunk, which the queue then owns. Returns 0, or -ENOSPC: the queue is
 * full. */
int cap_op_queue_add(struct cap_op_queue *q, struct cap_op_chunk *chunk);
/* Allows as many slots to be taken as were removed, up to `most`. */
void cap_op_queue_refill(struct cap_op_queue *q);
/* Removes a chunk from a queue whose slots were all removed, and that no thread uses any more.
 * Returns NULL if no chunk is left; then the queue can be used again. */
struct cap_op_chunk *cap_op_queue_remove_chunk(struct cap_op_queue *q);

/* ---- the consumer */

/* Returns the first slot; NULL: it is not published yet. */
struct cap_timed_op *cap_op_queue_front(struct cap_op_queue *q);
/* Removes the first slot. If it was the last of its chunk, returns the chunk, which the caller then
 * owns; else NULL. */
struct cap_op_chunk *cap_op_queue_pop(struct cap_op_queue *q);
