/* SPDX-License-Identifier: Apache-2.0 */

/* The ring of a thread: created at its first call, written without locks, marked when the thread
 * ends. Does not depend on the layers that write calls into it: see struct cap_ring_listener.
 *
 * Gates. A call is recorded if the thread's `paused` is 0 (it is 1 until the thread has a ring) and
 * cap_live.is_recording is not. Otherwise call/call.c determines the reason.
 *
 * Records are written like this, by the thread that owns the ring:
 *
 *     struct cap_record *r = cap_write_begin(t, bytes);
 *     if (r) {
 *             ...fill it...
 *             cap_write_end(t, bytes);
 *     }
 */
#pragma once

#include "capture/library/attributes.h"
#include "capture/library/ring/layouts.h"
#include "capture/library/ring/polls.h"
#include "capture/library/ring/process.h"
#include "formats/raw/record.h"
#include "formats/raw/ring.h"

#include <stddef.h>

struct cap_thread {
	const uint32_t *paused; /* &ring->paused, which the recorder may change; 1 without a ring */
	uint8_t *at,
		*end; /* next record; end of the space that can be written without further checks */
	struct cap_ring *ring; /* NULL: none yet, or creation failed */
	uint8_t *data;	       /* of the ring */
	uint8_t *ready;	       /* memory up to here is mapped */
	uint64_t shift;	       /* bytes ever written (the ring's head), minus `at` */
	uint64_t next_id;
	uint32_t depth;
	uint32_t clock;		  /* enum cap_clock_kind */
	uint32_t reserved;	  /* size of a record in preparation: put.h */
	uint32_t generation;	  /* cap_process.generation of this data */
	uint32_t failed;	  /* creation of the ring failed */
	uint32_t hooking;	  /* inside a hook, which may hold its locks */
	uint32_t asking;	  /* inside a library call that may call hooked functions */
	uint32_t writing;	  /* a record is being written: see cap_set_writing() */
	int64_t beat, silence_ns; /* the recorder's last heartbeat, and the time waited since */
	uint64_t lost_records, lost_bytes, lost_since; /* since the last CAP_LOST */
	struct cap_layout_entry *layouts;	       /* CAP_LAYOUTS entries; NULL: none yet */
	struct cap_polls polls;
	uint64_t names[8]; /* bit n: CAP_NAME of unknown call n was written */
};

extern __thread struct cap_thread cap_self CAP_THREAD_LOCAL;

/* Callbacks into higher layers, on the thread that owns the ring. */
struct cap_ring_listener {
	void (*process_begun)(void); /* the process, or a forked child, has its first ring */
	void (*thread_ending)(void); /* the last chance to write to the ring */
};

/* Once, before the first ring. */
void cap_ring_set_listener(const struct cap_ring_listener *listener);

/* Returns true if the calling thread may write, even while paused. Creates its ring; in a forked
 * child whose parent had not used CUDA, restarts recording. Keeps errno. */
bool cap_ring_prepare(struct cap_thread *t);

/* Writes the state into every ring of the process. CAP_LIVE undoes an earlier state. */
void cap_rings_set_state(enum cap_state state);

/* Called in a forked child: resets the lock, which a thread of the parent may have held. */
void cap_rings_after_fork(void);

/* While `writing` is set, calls of a signal handler that interrupts the thread are not recorded:
 * they would corrupt the record. Only the compiler must keep the order. */
static inline void cap_set_writing(struct cap_thread *t, uint32_t writing)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&t->writing, writing, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Returns space for `bytes` if at..end is too small; NULL: the record was counted as lost. Keeps
 * errno. */
uint8_t *cap_write_wait_space(struct cap_thread *t, uint32_t bytes);

/* Returns space for a record while `writing` is set; NULL: the record was counted as lost. */
static inline struct cap_record *cap_write_space(struct cap_thread *t, uint32_t bytes)
{
	if (likely((size_t)(t->end - t->at) >= bytes))
		return (struct cap_record *)(void *)t->at;
	return (struct cap_record *)(void *)cap_write_wait_space(t, bytes);
}

/* Sets `writing`; cap_write_end() must follow unless this returns NULL. */
static inline struct cap_record *cap_write_begin(struct cap_thread *t, uint32_t bytes)
{
	struct cap_record *r;

	cap_set_writing(t, 1);
	r = cap_write_space(t, bytes);
	if (unlikely(!r))
		cap_set_writing(t, 0);
	return r;
}

/* Publishes the record of `bytes` at t->at to the recorder. */
static inline void cap_write_publish(struct cap_thread *t, uint32_t bytes)
{
	t->at += bytes;
	__atomic_store_n(&t->ring->head, (uintptr_t)t->at + t->shift, __ATOMIC_RELEASE);
}

static inline void cap_write_end(struct cap_thread *t, uint32_t bytes)
{
	cap_write_publish(t, bytes);
	cap_set_writing(t, 0);
}
