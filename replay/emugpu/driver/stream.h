/* SPDX-License-Identifier: Apache-2.0 */

/* Streams and events. Any thread. */
#pragma once

#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/op.h"

struct emu_capture;

/* The state of posting (post.c). */
struct emu_ahead {
	struct emu_op *posted; /* last posted op in progress; NULL: none, or unknown */
	struct emu_op *unseen; /* the first queued op that was not examined */
	int64_t since_ns; /* lower bound of the stream's end, from the examined ops after `posted`
			   */
};

struct emu_stream {
	uint32_t magic;
	unsigned flags; /* CU_STREAM_NON_BLOCKING */
	int priority;
	uint64_t id;
	struct emu_context *context;
	struct emu_stream *next; /* in the context's list */
	pthread_mutex_t lock;	 /* protects the following members; held while an op runs in the
				    caller's thread */
	struct emu_track track;
	struct emu_op *head, **tail; /* ops queued for the worker thread */
	struct emu_op *spare;	     /* freed ops, for reuse */
	struct emu_ahead ahead;
	int pending;	/* 1: the worker has work, so ops must queue */
	uint32_t rests; /* number of times the worker ran out of work; a futex */
	int watched;	/* a thread sleeps on `rests` */
	int has_worker, closing;
	pthread_cond_t wake;
	struct emu_capture *capture; /* not NULL: ops become nodes of a graph */
	struct emu_node **fronts;    /* nodes that the next node waits for */
	size_t n_fronts, fronts_cap;
};

struct emu_event {
	uint32_t magic;
	unsigned flags;
	struct emu_context *context;
	pthread_mutex_t lock; /* protects the following members */
	int recorded;
	struct emu_dep last; /* the last record, if not captured */
	uint64_t capture;    /* not 0: last recorded in this capture, as nodes[] */
	struct emu_node **nodes;
	size_t n_nodes, nodes_cap;
	struct emu_shared_event *shared; /* shared with other processes; then `last` is unused */
	int shared_opened;		 /* opened from another process */
};

int emu_stream_new(struct emu_context *c, unsigned flags, int priority, struct emu_stream **ret);

/* The stream of a handle: 0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a stream. */
CUresult emu_stream_of(struct emu_thread *self, CUstream handle, struct emu_stream **ret);

/* Runs `op` on the stream, now or later, or captures it as a node. Takes ownership of the data of
 * `op`, also on failure. */
CUresult emu_submit(struct emu_thread *self, struct emu_stream *s, struct emu_op *op);

/* Submits a record of a shared event, or a wait for its last one; an error during a capture. */
CUresult emu_submit_shared(struct emu_thread *self, struct emu_stream *s,
			   struct emu_shared_event *e, int records);

/* Posts `op` if possible; it must own its arguments and its deps must be known. It runs after
 * `before` (unless NULL) and after tail_ns. Returns 0, or the result of gpuemu_kernel.post. The
 * stream's lock must be held, also for the next two functions. */
int emu_post(struct emu_stream *s, struct emu_op *op, const struct emu_op *before, int64_t tail_ns);

/* Records that the queued ops follow `op`, which is posted. */
void emu_post_after(struct emu_stream *s, struct emu_op *op);

/* Posts queued ops as far as possible. */
void emu_post_queued(struct emu_stream *s);

/* Wait for the stream or context, in real and in virtual time. */
CUresult emu_stream_wait(struct emu_thread *self, struct emu_stream *s);
CUresult emu_context_wait(struct emu_thread *self, struct emu_context *c);

/* Returns the last record of an event, with its own reference. */
struct emu_dep emu_event_dep(struct emu_event *e);
int emu_is_event(CUevent e);
/* Sets the time of the event. */
void emu_event_set(struct emu_event *e, int64_t end_ns);
/* The launch of a graph records the event: returns the point that its node reaches, for
 * emu_point_reach(); NULL if out of memory. */
struct emu_point *emu_event_expect(struct emu_event *e);
CUresult emu_event_record(struct emu_thread *self, struct emu_event *e, struct emu_stream *s);
