/* SPDX-License-Identifier: Apache-2.0 */

/* The operations of one stream whose times are outstanding, in the order of the stream.
 *
 * Any thread takes the next slot with one compare-and-swap, records the slot's event, and publishes
 * the slot. One consumer, the library's thread, reads published slots from the front. Each slot has
 * an event of its own. Slots come in chunks, which the owner of the queue adds; a chunk of which
 * all was removed can be added again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAP_OPS_A_CHUNK 256u
#define CAP_CHUNKS_A_QUEUE 4096u /* that are in a queue at once: 1,048,576 operations */

enum cap_timed_what {
	CAP_TIMED_EVENT, /* the event is recorded behind the operation */
	CAP_TIMED_HOST,	 /* the operation had ended at done_ns; the event is not used */
	CAP_TIMED_LOST,	 /* the event could not be recorded */
	/* Not an operation: the event is recorded before the next one; could not be recorded. */
	CAP_TIMED_MARK,
	CAP_TIMED_NO_MARK,
};

static inline bool cap_timed_is_mark(enum cap_timed_what what)
{
	return what >= CAP_TIMED_MARK;
}

/* The parts of an operation with times of their own: nodes of a graph. */
struct cap_timed_parts {
	/* Records the times of all parts, on the library's thread. Returns how many have none. */
	unsigned (*put)(const struct cap_timed_parts *parts, uint64_t id);
	/* The parts are not needed any more. Any thread. */
	void (*release)(struct cap_timed_parts *parts);
};

struct cap_timed_op {
	void *event;		       /* belongs to the slot */
	struct cap_timed_parts *parts; /* NULL: the operation has no parts */
	uint64_t id;		       /* of the call */
	uint64_t issued;	       /* when the call began, in the clock of its ring */
	int64_t done_ns;	       /* in the clock of the recording */
	uint8_t what;		       /* enum cap_timed_what */
	bool is_ticks;		       /* `issued` counts ticks of the processor */
	bool follows;		       /* begins where what is before it in the queue ends */
	bool published;		       /* atomic; publishes the rest to the consumer */
};

struct cap_op_chunk {
	struct cap_op_chunk *next; /* for its owner, while it is in no queue */
	struct cap_timed_op ops[CAP_OPS_A_CHUNK];
};

struct cap_op_queue {
	/* Numbers of slots, from 0; atomic. */
	uint64_t head;	   /* taken next */
	uint64_t limit;	   /* may not be taken; publishes the chunks below it */
	uint8_t apart[64]; /* the consumer's words are on another line of the cache */
	uint64_t tail;	   /* removed next */
	/* With the owner's lock. */
	uint64_t end;					 /* behind the last chunk */
	uint64_t most;					 /* slots in use at once */
	struct cap_op_chunk *chunks[CAP_CHUNKS_A_QUEUE]; /* by number of slot */
};

/* ---- any thread */

/* The next slot; NULL: there is none. cap_timed_publish() must follow. */
struct cap_timed_op *cap_op_queue_take(struct cap_op_queue *q);
void cap_timed_publish(struct cap_timed_op *op);

/* How many slots are taken and not removed. */
uint64_t cap_op_queue_used(const struct cap_op_queue *q);

/* ---- one thread at a time: the owner's lock is held */

/* At most `most` slots of an empty queue are in use at once. */
void cap_op_queue_begin(struct cap_op_queue *q, uint64_t most);
/* How many slots can be taken now. */
uint64_t cap_op_queue_free(const struct cap_op_queue *q);
/* Adds slots. Takes over the chunk: 0; or -ENOSPC: the queue has as many as it may. */
int cap_op_queue_add(struct cap_op_queue *q, struct cap_op_chunk *chunk);
/* Removed slots make room for others: see `most`. */
void cap_op_queue_renew(struct cap_op_queue *q);
/* Hands back, one at a time, the chunks of a queue from which all was removed, and that no thread
 * uses any more; NULL: that was the last one, and the queue can begin again. */
struct cap_op_chunk *cap_op_queue_give_back(struct cap_op_queue *q);

/* ---- the consumer */

/* The first slot, if it is published; NULL. */
struct cap_timed_op *cap_op_queue_first(struct cap_op_queue *q);
/* Removes it. The chunk that it was the last slot of, which is the caller's; else NULL. */
struct cap_op_chunk *cap_op_queue_remove(struct cap_op_queue *q);
