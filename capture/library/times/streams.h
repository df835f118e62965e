/* SPDX-License-Identifier: Apache-2.0 */

/* The streams whose operations are timed, and their contexts.
 *
 * A thread finds a stream without a lock by a cache of its own, in which an entry is valid as long
 * as the stream's generation is the same. The lock is for what happens rarely: a stream's first use
 * by a thread, its end, and more operations outstanding than ever before. Streams and contexts are
 * never freed, since a thread may still refer to one; a stream that has ended is used again for
 * another once its operations are collected.
 */
#pragma once

#include "capture/library/device/stream_ref.h"
#include "capture/library/times/device_clock.h"
#include "capture/library/times/op_queue.h"

struct cap_timed_context {
	struct cap_timed_context *next;
	struct cap_device_clock clock;
	struct cap_op_chunk *spare; /* for its streams; with the lock */
	unsigned n_spare;
	/* For the rules by which the legacy stream and others wait for each other; relaxed. */
	uint32_t legacy_ops; /* put on the legacy stream so far */
	bool blocking_ran;   /* something was put on another stream that it waits for */
};

enum cap_stream_state {
	CAP_STREAM_FREE,
	CAP_STREAM_LIVE,
	CAP_STREAM_ENDED, /* some operations may be outstanding */
};

struct cap_stream {
	struct cap_stream *next;
	uint32_t state;	     /* enum cap_stream_state; atomic: publishes the next lines */
	uint32_t generation; /* atomic: changes when the stream ends */
	/* Constant while the stream is not free. */
	struct cap_timed_context *context;
	void *stream;	 /* as in struct cap_stream_ref */
	uint32_t thread; /* the same */
	bool waits;	 /* for the legacy stream, and that for it */
	/* By any thread; relaxed. */
	bool end_known;	     /* the end of what was put last tells when the next can begin */
	uint32_t legacy_ops; /* of the context, when that was put */
	uint32_t n_marks;    /* slots of the queue that are not operations */
	/* The library's thread. */
	int64_t end_ns; /* device time of what was collected last; INT64_MIN: not known */
	uint64_t peak;	/* of operations that were outstanding at once */
	struct cap_op_queue queue;
};

/* ---- any thread */

/* The stream that a call puts its work on; NULL: it has no context, or one that cannot be timed.
 * The place's context need not be known, unless the stream is a default one. */
struct cap_stream *cap_streams_find(const struct cap_stream_ref *ref);

/* A slot for one more operation; NULL: too many are outstanding, or there is no memory. */
struct cap_timed_op *cap_stream_take(struct cap_stream *s);

/* The stream of that handle is about to be destroyed; the calling thread ends. */
void cap_streams_end(const void *stream);
void cap_streams_end_thread(void);

/* The context as it is timed, begun if it was not; NULL: it cannot be timed. */
struct cap_timed_context *cap_streams_context(void *context);
/* The same if it was begun. */
struct cap_timed_context *cap_streams_known_context(const void *context);
/* How many operations of the context, or of all if that is NULL, have no times yet. */
uint64_t cap_streams_outstanding(const struct cap_timed_context *context);
/* The context was destroyed, and its streams with it. */
void cap_streams_end_context(struct cap_timed_context *context);
/* How exact all clocks are: the worst of them. */
void cap_streams_drift(int64_t *ret_residual_ns, double *ret_rate);

/* ---- the library's thread */

/* All streams; not those that are free. */
struct cap_stream *cap_streams_next(const struct cap_stream *s);
/* All of a chunk was collected: the stream uses it again. */
void cap_stream_give_back(struct cap_stream *s, struct cap_op_chunk *chunk);
/* Provides for as many operations again as were ever outstanding at once, so that threads need not.
 * With the context current. */
void cap_stream_restock(struct cap_stream *s);
/* A stream that has ended, and of which all was collected, is free. */
void cap_stream_free(struct cap_stream *s);
