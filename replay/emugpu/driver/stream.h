/* SPDX-License-Identifier: Apache-2.0 */

/* Streams and events. Any thread. */
#pragma once

#include "replay/emugpu/driver/device.h"

struct emu_capture;

/* How far a stream's ops are posted (post.c). */
struct emu_ahead {
	struct emu_op *posted; /* the last that has not ended; NULL: none, or not known yet */
	struct emu_op *unseen; /* the first in the queue that was not looked at */
	int64_t since_ns;      /* the stream's end is no earlier, by what is seen behind `posted` */
};

struct emu_stream {
	uint32_t magic;
	unsigned flags; /* CU_STREAM_NON_BLOCKING */
	int priority;
	uint64_t id;
	struct emu_context *context;
	struct emu_stream *next; /* in the context's list */
	pthread_mutex_t lock;	 /* of what follows; held while an op runs in the caller's thread */
	struct emu_track track;
	struct emu_op *head, **tail; /* what waits for the stream's own thread */
	struct emu_op *spare;	     /* memory of what has waited */
	struct emu_ahead ahead;
	int pending;	/* 1: that thread has work, ops must queue */
	uint32_t rests; /* how often it ran out of work; a futex */
	int watched;	/* some thread sleeps on it */
	int has_worker, closing;
	pthread_cond_t wake;
	struct emu_capture *capture; /* not NULL: ops become nodes of a graph */
	struct emu_node **fronts;    /* what the next node waits for */
	size_t n_fronts, fronts_cap;
};

struct emu_event {
	uint32_t magic;
	unsigned flags;
	struct emu_context *context;
	pthread_mutex_t lock; /* of what follows */
	int recorded;
	struct emu_dep last; /* the last record */
	uint64_t capture;    /* recorded while capturing, not 0: nodes, not a moment */
	struct emu_node **nodes;
	size_t n_nodes, nodes_cap;
	struct emu_shared_event *shared; /* with other processes; then `last` is not used */
	int shared_opened;		 /* it is another's */
};

int emu_stream_new(struct emu_context *c, unsigned flags, int priority, struct emu_stream **ret);

/* What a handle means: 0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a stream. */
CUresult emu_stream_of(struct emu_thread *self, CUstream handle, struct emu_stream **ret);

/* Runs `op` on the stream, now or later, or makes it a node of a capture. What `op` owns passes on
 * in any case. */
CUresult emu_submit(struct emu_thread *self, struct emu_stream *s, struct emu_op *op);

/* Posts `op`, which is owned and whose deps are known, where that can be done: 0, or as
 * gpuemu_kernel's post. It comes after `before`, unless that is NULL, and after tail_ns. Here and
 * below with the stream's lock held. */
int emu_post(struct emu_stream *s, struct emu_op *op, const struct emu_op *before, int64_t tail_ns);
/* What follows in the queue comes after `op`, which is posted. */
void emu_post_after(struct emu_stream *s, struct emu_op *op);
/* Posts what can be of the queue. */
void emu_post_ahead(struct emu_stream *s);

/* The end of what is on the stream now. */
struct emu_dep emu_stream_tail(struct emu_stream *s);

/* Waits for it, in real and in virtual time. */
CUresult emu_stream_wait(struct emu_thread *self, struct emu_stream *s);
CUresult emu_context_wait(struct emu_thread *self, struct emu_context *c);

/* The last record of an event, with a reference of its own. */
struct emu_dep emu_event_dep(struct emu_event *e);
int emu_is_event(CUevent e);
/* The event happens at `end_ns`. */
void emu_event_set(struct emu_event *e, int64_t end_ns);
CUresult emu_event_record(struct emu_thread *self, struct emu_event *e, struct emu_stream *s);
