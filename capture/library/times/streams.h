/* SPDX-License-Identifier: Apache-2.0 */

/* Streams whose operations are timed, and their contexts.
 *
 * A thread finds a stream without a lock in a thread-local cache, whose entries are valid while the
 * stream's generation is unchanged. A lock is taken when a thread first uses a stream, when a
 * stream ends, and when more operations are outstanding than ever before. Streams and contexts are
 * never freed, since a thread may still refer to them; an ended stream is reused for another one
 * after its operations are collected. */
#pragma once

#include "capture/library/device/stream_ref.h"
#include "capture/library/times/device_clock.h"
#include "capture/library/times/op_queue.h"

struct cap_timed_context {
	struct cap_timed_context *next;
	struct cap_device_clock clock;
	struct cap_op_chunk *spare; /* free chunks for its streams; protected by the lock */
	unsigned n_spare;
	/* The legacy stream and blocking streams wait for each other; relaxed. */
	uint32_t legacy_ops; /* number of operations on the legacy stream so far */
	bool blocking_ran;   /* an operation was put on a stream that the legacy stream waits for */
};

enum cap_stream_state {
	CAP_STREAM_FREE,
	CAP_STREAM_LIVE,
	CAP_STREAM_ENDED, /* some operations may be outstanding */
};

struct cap_stream {
	struct cap_stream *next;
	uint32_t state;	     /* enum cap_stream_state; atomic: publishes the next members */
	uint32_t generation; /* atomic: changes when the stream ends */
	/* Constant unless the stream is free. */
	struct cap_timed_context *context;
	void *stream;	 /* as in struct cap_stream_ref */
	uint32_t thread; /* the same */
	bool waits;	 /* the stream and the legacy stream wait for each other */
	/* By any thread; relaxed. */
	bool end_known;	     /* the last event is the earliest start of the next operation */
	uint32_t legacy_ops; /* of the context, at the last operation */
	uint32_t n_marks;    /* number of queue slots that are not operations */
	/* The library's thread. */
	int64_t end_ns; /* device time at which all collected operations have ended; INT64_MIN:
			   unknown */
	uint64_t peak;	/* largest number of outstanding operations */
	struct cap_op_queue queue;
};

/* ---- any thread */

/* Returns the timed stream; NULL: it has no context, or its context cannot be timed. The context of
 * `ref` is needed for default streams only. */
struct cap_stream *cap_streams_find(const struct cap_stream_ref *ref);

/* Returns a slot for an operation; NULL: too many are outstanding, or out of memory. */
struct cap_timed_op *cap_stream_reserve_op(struct cap_stream *s);

/* Call cap_streams_end() before the stream of the handle is destroyed, and cap_streams_end_thread()
 * when the calling thread ends. */
void cap_streams_end(const void *stream);
void cap_streams_end_thread(void);

/* Returns the record of a context whose operations are timed; NULL for other contexts. */
struct cap_timed_context *cap_streams_find_context(const void *context);
/* Returns the number of operations of the context, or of all contexts if NULL, whose times are
 * outstanding. */
uint64_t cap_streams_outstanding(const struct cap_timed_context *context);
/* Call after the context and its streams were destroyed. */
void cap_streams_end_context(struct cap_timed_context *context);
/* Returns the accuracy of the least accurate clock. */
void cap_streams_drift(int64_t *ret_residual_ns, double *ret_rate);

/* ---- the library's thread */

/* Iterates over all streams that are not free; starts with NULL. */
struct cap_stream *cap_streams_next(const struct cap_stream *s);
/* Returns a chunk to its stream after all its slots were collected. */
void cap_stream_return_chunk(struct cap_stream *s, struct cap_op_chunk *chunk);
/* Adds slots, up to the largest number of operations ever outstanding, so that threads of the
 * program do not have to. The context must be current. */
void cap_stream_refill(struct cap_stream *s);
/* Frees the stream after its end, when all its operations were collected. */
void cap_stream_free(struct cap_stream *s);
