/* SPDX-License-Identifier: Apache-2.0 */

/* The memory that the ranks of a communicator share, within a process and across processes.
 *
 * The memory has no name: it is a memfd of the process that made the communicator's id, which the
 * others open through /proc/PID/fd/FD. So no files remain however a run ends, and the size of
 * /dev/shm does not matter. As with NCCL, that process must live until every rank has joined.
 *
 * Ranks wait for each other at *barriers*, and *post* the operations that they have reached in a
 * window of EMU_WINDOW operations, so that a rank can be that many operations ahead of another. A
 * waiting rank checks every few milliseconds that the others are alive: if one died, left or
 * aborted, the wait fails on every rank. Any thread may call emu_segment_abort(). One thread at a
 * time posts, and another may finish posted operations; all other functions are called by one
 * thread for each rank. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EMU_SEGMENT_ID_BYTES 64

/* Data that each rank posts for an operation. */
struct emu_arrival {
	uint64_t operation;  /* hash of its kind, type, count, ...: must be equal on all ranks */
	int64_t ready_ns;    /* earliest virtual start on this rank */
	int64_t gap_ns;	     /* minimum time after its previous operation; -1: no limit */
	int64_t duration_ns; /* duration known to this rank */
	double scalar;	     /* factor of the rank's input (EMU_PREMUL) */
};

/* A rank of the communicator, written when it joins. */
struct emu_member {
	uint64_t pid, started; /* process id and start time */
	uint32_t joined;       /* 1, then 2 when it has left */
	int32_t device;
	uint32_t bell; /* a futex: counts transfers by peers to or from this rank */
	/* By parity of the step: this many elements of the rank's input (of each block) are zero,
	 * so its slot was not written. 0: it was. */
	uint64_t zeros[2];
	char host[16];	   /* ranks with the same host share its links */
	uint8_t note[256]; /* data of emu_segment_exchange() */
};

/* A byte stream from one rank to another. */
struct emu_channel {
	uint64_t sent, received; /* bytes */
	uint64_t send_messages, receive_messages;
	int64_t send_ready_ns[4], receive_ready_ns[4]; /* by message number modulo 4 */
	uint64_t send_bytes[4], receive_bytes[4];
	uint8_t send_zeros[4]; /* the data is all zeros, so none is sent */
};

struct emu_barrier {
	uint64_t count;	  /* arrivals so far */
	uint32_t phase;	  /* number of completed phases */
	uint32_t padding; /* the futex word is `phase` */
};

/* The state of posted operation i (all ranks number operations alike), in entry i % EMU_WINDOW,
 * which is reused i / EMU_WINDOW times. */
enum { EMU_WINDOW = 64 };
struct emu_posting {
	uint32_t open, done; /* futexes: how often all ranks left it, and arrived at it */
	uint32_t arrived, left;
	uint32_t sleepers;
	uint32_t padding[11];
};

enum { EMU_BARRIER_HOST, EMU_BARRIER_DEVICE, EMU_BARRIERS };

/* A rank's view of the shared memory. Users read `n`, `rank`, and sizes of buffers, and change
 * `turn` and `end_ns`. */
struct emu_segment {
	uint8_t *base;
	size_t bytes;
	uint32_t n, rank;
	uint32_t phases[EMU_BARRIERS]; /* completed by this rank */
	uint64_t posted;	       /* number of operations posted by this rank */
	uint64_t retired; /* number of operations retired; the oldest posted one, if there is any */
	unsigned turn;	  /* parity of the next step */
	int64_t end_ns;	  /* of the last operation, in virtual time */
	size_t members_at, channels_at, rings_at, slots_at, entries_at, arrivals_at, small_at;
	size_t ring_bytes, slot_bytes, small_bytes; /* of a channel's buffer, and of slots */
};

/* Creates the memory of a new communicator, and writes its id. Returns 0 or -errno. */
int emu_segment_make(uint8_t id[EMU_SEGMENT_ID_BYTES]);

/* Joins as `rank` of `n`, and waits for the others. Returns 0; -EPROTO for an invalid id or a
 * different n; -ECONNRESET if another rank was lost, or did not join within $GPUEMU_JOIN_SECONDS
 * (600); -errno. The caller calls emu_segment_leave() at the end. */
int emu_segment_join(const uint8_t id[EMU_SEGMENT_ID_BYTES], uint32_t n, uint32_t rank,
		     int32_t device, struct emu_segment **ret);

/* Leaves the communicator and unmaps the memory. Accepts NULL. */
void emu_segment_leave(struct emu_segment *s);

/* Makes all present and future waits of all ranks fail. */
void emu_segment_abort(struct emu_segment *s);

struct emu_member *emu_segment_member(struct emu_segment *s, uint32_t rank);
struct emu_channel *emu_segment_channel(struct emu_segment *s, uint32_t from, uint32_t to);

/* Posting, in this order. emu_segment_next() returns the number of this rank's next operation.
 * emu_segment_reserve() waits until its entry is free: returns 0, -EAGAIN if ranks still use it and
 * `may_wait` is 0, or an error of emu_segment_check(). Then the caller writes its slot.
 * emu_segment_post() returns 0, or 1 for the last rank to arrive, which does the common work and
 * then calls emu_segment_complete(). */
uint64_t emu_segment_next(const struct emu_segment *s);
int emu_segment_reserve(struct emu_segment *s, int may_wait);
int emu_segment_post(struct emu_segment *s, const struct emu_arrival *mine);
void emu_segment_complete(struct emu_segment *s, uint64_t operation);

/* Waits until all ranks have arrived at the oldest operation that this rank has posted and not
 * retired: 0, or an error of emu_segment_check(). */
int emu_segment_await(struct emu_segment *s);
void emu_segment_retire(struct emu_segment *s);
struct emu_arrival *emu_segment_arrival(struct emu_segment *s, uint64_t operation, uint32_t rank);

/* Slots of a posted operation: the input of each rank; of rank `n`: the result. */
uint8_t *emu_segment_small(struct emu_segment *s, uint64_t operation, uint32_t rank);

enum { EMU_SLOT_BYTES = 1 << 20 }; /* the largest slot */

/* Buffers of a channel, and of a rank in a step (parity 0 or 1); of rank `n`: of the step's
 * result. */
uint8_t *emu_segment_channel_data(struct emu_segment *s, uint32_t from, uint32_t to);
uint8_t *emu_segment_slot(struct emu_segment *s, uint32_t rank, unsigned step);

/* Waits until every rank has arrived at the barrier. Returns 0, -ECONNRESET, -ECANCELED after an
 * abort, or 1 for the last rank to arrive: the others wait until this rank has done the common work
 * and calls emu_segment_release(). */
int emu_segment_arrive(struct emu_segment *s, unsigned barrier);
void emu_segment_release(struct emu_segment *s, unsigned barrier);

/* Waits until all ranks have arrived. Returns as emu_segment_arrive(), but never 1. */
int emu_segment_barrier(struct emu_segment *s, unsigned barrier);

/* Gathers `bytes` (at most 256) of every rank into `all`, in rank order. */
int emu_segment_exchange(struct emu_segment *s, const void *mine, size_t bytes, void *all);

/* emu_segment_notify() increments the bell of `rank`. emu_segment_wait() waits a few milliseconds
 * for this rank's bell to differ from `seen`, and returns 1 if it does. */
void emu_segment_notify(struct emu_segment *s, uint32_t rank);
uint32_t emu_segment_doorbell(struct emu_segment *s);
int emu_segment_wait(struct emu_segment *s, uint32_t seen);

/* Returns 0 if `rank` is alive; -ECONNRESET, or -ECANCELED after an abort. */
int emu_segment_check(struct emu_segment *s, uint32_t rank);
