/* SPDX-License-Identifier: Apache-2.0 */

/* What the capture library keeps for the process and for each of its threads. Only for sources of
 * capture/library.
 *
 * Gates. A call is recorded when two words allow it: the thread's `paused` (its ring's, or
 * cap_closed before it has one), and the process's cap_live.on, which lies in memory that the
 * kernel wipes in a forked child. Else call.c finds out why not.
 */
#pragma once

#include "capture/library/device/hook.h"
#include "capture/library/polls.h"
#include "capture/ring.h"

#include <stdbool.h>

#define CAP_API __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct cap_known; /* known.h */

struct cap_thread {
	const uint32_t *paused; /* &ring->paused, which the recorder may change, or &cap_closed */
	uint8_t *at, *end;	/* where the next record goes, and how far without looking again */
	struct cap_ring *ring;	/* NULL: none yet, or none could be made */
	uint8_t *data;		/* of the ring */
	uint8_t *ready;		/* its memory is mapped up to here */
	uint64_t shift;		/* from `at` to the ring's head: how many bytes were ever written */
	uint64_t next_id;
	uint32_t depth;
	uint32_t clock;		  /* enum cap_clock_kind */
	uint32_t reserved;	  /* bytes of a record that is being filled */
	uint32_t generation;	  /* of the process (forks) that all this belongs to */
	uint32_t failed;	  /* no ring could be made */
	uint32_t hooking;	  /* inside a hook, which may hold its locks */
	uint32_t writing;	  /* what a signal handler must not do as well: see cap_room() */
	int64_t beat, silence_ns; /* the recorder's last heartbeat, and the turns waited since */
	uint64_t lost_records, lost_bytes, lost_since; /* since the last CAP_LOST */
	struct cap_known *known;		       /* CAP_LAYOUTS of them; NULL: none yet */
	struct cap_polls polls;
	uint64_t names[8]; /* bit n: CAP_NAME of unknown call n was written */
};

/* A page of its own, which the kernel wipes in a forked child. */
#ifdef __x86_64__
#define CAP_PAGE 4096
#else
#define CAP_PAGE 65536 /* as large as pages can be */
#endif
struct cap_live {
	/* Calls are recorded. Any thread changes it; relaxed, since it publishes nothing else. */
	_Alignas(CAP_PAGE) uint32_t on;
	/* This is the process that set it. Publishes what cap_process_begin() set: see
	   cap_is_alive(). */
	uint32_t alive;
	uint8_t page[CAP_PAGE - 8];
};

/* Which hooks want launches: launch.h runs that of `times` without the chain. */
enum cap_launch_hooks { CAP_LAUNCH_TIMED = 1, CAP_LAUNCH_CHAINED = 2 };

struct cap_process {
	/* Set by the constructor, before main(). */
	struct cap_control *control;   /* never NULL: without a session a page that is `paused` */
	bool session;		       /* there is one, and it is of our version */
	char folder[CAP_FOLDER_BYTES]; /* of the session */

	/* Set by cap_process_begin(): by the constructor, and anew in a forked child, before
	   cap_live.alive. */
	int pid;
	uint32_t generation;
	uint64_t start; /* cap_ring.process_start */

	/* By any thread, atomically; relaxed where nothing else is published. */
	uint64_t hooked; /* bit enum api_class: some hook wants it. Publishes what the hook set
			    up in start(): stored with release, read by cap_is_hooked() */
	uint32_t launch_hooks; /* enum cap_launch_hooks, bits; publishes the same */
	uint32_t capturing;    /* streams in capture: recorded while paused, too */
	int64_t iteration;     /* marks so far, less 1 */
	bool driver_used; /* cuInit was called: a forked child cannot go on with what it made */
	uint64_t (*emulated_ns)(void); /* gpuemu_host_ns, or NULL. Publishes the emulated driver:
					  see cap_emulated_clock() */
};

extern struct cap_process cap_process;
extern struct cap_live cap_live;
extern const uint32_t cap_closed; /* 1 */
extern __thread struct cap_thread cap_self __attribute__((tls_model("initial-exec")));

/* Whether this process has begun to record: false in a forked child, until it begins anew. */
static inline bool cap_is_alive(void)
{
	return __atomic_load_n(&cap_live.alive, __ATOMIC_ACQUIRE);
}

/* gpuemu_host_ns(), or NULL: time is not virtual, or is not known to be yet. */
static inline uint64_t (*cap_emulated_clock(void))(void)
{
	return __atomic_load_n(&cap_process.emulated_ns, __ATOMIC_ACQUIRE);
}

/* Whether the calling thread may write at all, also while paused: makes its ring, and the process
 * anew in a forked child whose parent had not begun with CUDA. Keeps errno. */
bool cap_thread_ready(struct cap_thread *t);

/* The thread has a new ring, which knows no layout yet; it has ended. */
void cap_params_begin(struct cap_thread *t);
void cap_params_end(struct cap_thread *t);

/* Room for `bytes` where at..end has not enough; NULL when it was counted as lost. Keeps errno. */
uint8_t *cap_thread_room(struct cap_thread *t, uint32_t bytes);

/* Says in every ring of the process how it ends; CAP_LIVE takes it back. */
void cap_threads_mark(enum cap_state state);

/* In a forked child: the thread that held the lock of the rings does not exist there. */
void cap_threads_forked(void);

/* Facts about the process, and about the driver once it has been initialised; into the ring of the
 * calling thread. */
void cap_facts_process(void);
void cap_facts_driver(void);

/* The driver was initialised just now. It shuts down in exit(), by a handler of its own; one that
 * is registered after that comes before it. */
void cap_ends_driver_began(void);

/* What a signal handler does to the thread in between would be lost or torn: it records nothing
 * there. Only the compiler has to keep the order. */
static inline void cap_writing(struct cap_thread *t, uint32_t writing)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&t->writing, writing, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Room for a record of a thread that is writing; NULL: it was lost. */
static inline struct cap_record *cap_more_room(struct cap_thread *t, uint32_t bytes)
{
	if (likely((size_t)(t->end - t->at) >= bytes))
		return (struct cap_record *)(void *)t->at;
	return (struct cap_record *)(void *)cap_thread_room(t, bytes);
}

/* The same, and cap_commit() must follow unless it is NULL. */
static inline struct cap_record *cap_room(struct cap_thread *t, uint32_t bytes)
{
	struct cap_record *room;

	cap_writing(t, 1);
	room = cap_more_room(t, bytes);
	if (unlikely(!room))
		cap_writing(t, 0);
	return room;
}

/* Lets the recorder see the record of `bytes` at t->at. */
static inline void cap_show(struct cap_thread *t, uint32_t bytes)
{
	t->at += bytes;
	__atomic_store_n(&t->ring->head, (uintptr_t)t->at + t->shift, __ATOMIC_RELEASE);
}

static inline void cap_commit(struct cap_thread *t, uint32_t bytes)
{
	cap_show(t, bytes);
	cap_writing(t, 0);
}
