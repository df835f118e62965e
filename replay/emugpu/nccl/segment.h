/* SPDX-License-Identifier: Apache-2.0 */

/* The memory that the ranks of a communicator share, within a process and across processes.
 *
 * It has no name: it is a memfd of the process that made the communicator's id, opened by the
 * others through /proc/PID/fd/FD. So nothing is left behind however a run ends, and /dev/shm may be
 * as small as it likes. As with NCCL, that process has to live until every rank has joined.
 *
 * Ranks meet at numbered phases of a *barrier*. What they come for they *post*, at places that are
 * used in turn, so that a rank may be EMU_WINDOW operations ahead of another. A rank that waits
 * looks every few milliseconds whether the others still live: one that died, left or gave up fails
 * the wait on every rank. Any thread may call emu_segment_abort(); one thread at a time posts, and
 * another may finish what was posted; the rest belongs to the one thread that acts for the rank.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EMU_SEGMENT_ID_BYTES 64

/* What a rank tells the others when it takes part in an operation. */
struct emu_arrival {
	uint64_t operation; /* a summary of what it has come for */
	int64_t ready_ns;   /* virtual time from which the rank could start it ... */
	int64_t gap_ns; /* ... so long after its operation before it; -1: that does not matter */
	int64_t duration_ns; /* what it takes, as far as the rank knows */
	double scalar;	     /* that the rank multiplies its part by */
};

/* What a rank tells the others when it joins. */
struct emu_member {
	uint64_t pid, started; /* the process: its id, and when it was started */
	uint32_t joined;       /* 1, then 2 when it has left */
	int32_t device;
	uint32_t bell;	   /* rung when a peer has moved data to or from it */
	char host[16];	   /* host of the rank: which ranks share links */
	uint8_t note[256]; /* what emu_segment_exchange() passes */
};

/* Bytes from one rank to another, in order. */
struct emu_channel {
	uint64_t sent, received; /* bytes */
	uint64_t send_messages, receive_messages;
	int64_t send_ready_ns[4], receive_ready_ns[4]; /* by number of the message, modulo 4 */
	uint64_t send_bytes[4], receive_bytes[4];
};

struct emu_barrier {
	uint64_t count;	  /* arrivals so far */
	uint32_t phase;	  /* phases that are complete */
	uint32_t padding; /* the futex word is `phase` */
};

/* Where operation i meets that is numbered so by all: places[i % EMU_WINDOW], for the
 * i / EMU_WINDOW-th time. */
enum { EMU_WINDOW = 64 };
struct emu_entry {
	uint32_t open, done; /* futexes: how often it was left by all, and come to by all */
	uint32_t arrived, left;
	uint32_t sleepers;
	uint32_t padding[11];
};

enum { EMU_BARRIER_HOST, EMU_BARRIER_DEVICE, EMU_BARRIERS };

struct emu_segment;

/* What a rank keeps from operation to operation. */
struct emu_segment_memory {
	unsigned turn;	/* of the next step */
	int64_t end_ns; /* of the last operation, in virtual time */
};

/* Makes the memory of a communicator that is to be, and writes its id. 0 or -errno. */
int emu_segment_make(uint8_t id[EMU_SEGMENT_ID_BYTES]);

/* Joins as `rank` of `n`, and waits for the others. 0; -EPROTO where the id is none or n differs;
 * -ECONNRESET where another rank was lost, or did not come within $GPUEMU_JOIN_SECONDS (600);
 * -errno. The caller ends it with emu_segment_leave(). */
int emu_segment_join(const uint8_t id[EMU_SEGMENT_ID_BYTES], uint32_t n, uint32_t rank,
		     int32_t device, struct emu_segment **ret);

/* Tells the others that this rank takes part no longer, and forgets the memory. Accepts NULL. */
void emu_segment_leave(struct emu_segment *s);

/* Makes every wait of every rank fail, now and later. */
void emu_segment_abort(struct emu_segment *s);

uint32_t emu_segment_size(const struct emu_segment *s);
uint32_t emu_segment_rank(const struct emu_segment *s);
struct emu_segment_memory *emu_segment_memory(struct emu_segment *s);
struct emu_member *emu_segment_member(struct emu_segment *s, uint32_t rank);
struct emu_channel *emu_segment_channel(struct emu_segment *s, uint32_t from, uint32_t to);

/* Posting, in this order. The number of this rank's next operation; room at its place: 0, -EAGAIN
 * where others are still there (with `may_wait` it waits until they are not, or fails as
 * emu_segment_check()); after the place's slot was written, the post: 0, or 1 for the last rank to
 * come, which does what needs doing once, and then says that all have come. */
uint64_t emu_segment_next(const struct emu_segment *s);
int emu_segment_reserve(struct emu_segment *s, int may_wait);
int emu_segment_post(struct emu_segment *s, const struct emu_arrival *mine);
void emu_segment_complete(struct emu_segment *s, uint64_t operation);

/* The oldest operation that this rank has posted and not left: waits until all have come to it. 0,
 * or as emu_segment_check(). */
uint64_t emu_segment_oldest(const struct emu_segment *s);
int emu_segment_await(struct emu_segment *s);
void emu_segment_retire(struct emu_segment *s);
struct emu_arrival *emu_segment_arrival(struct emu_segment *s, uint64_t operation, uint32_t rank);

/* Room for what a rank gives to an operation at a place, and for the result of all. */
size_t emu_segment_small_bytes(const struct emu_segment *s);
uint8_t *emu_segment_small(struct emu_segment *s, uint64_t operation, uint32_t rank);
uint8_t *emu_segment_small_result(struct emu_segment *s, uint64_t operation);

/* Room for the bytes of a channel, of a rank in a step, and of the result of a step (0 or 1). */
size_t emu_segment_channel_bytes(const struct emu_segment *s);
uint8_t *emu_segment_channel_data(struct emu_segment *s, uint32_t from, uint32_t to);
size_t emu_segment_slot_bytes(const struct emu_segment *s);
uint8_t *emu_segment_slot(struct emu_segment *s, uint32_t rank, unsigned step);
uint8_t *emu_segment_result(struct emu_segment *s, unsigned step);

/* Waits until every rank has called it as often. 0, -ECONNRESET, or -ECANCELED after an abort.
 * -> 1 for the last rank to come: the others wait until it calls emu_segment_release(), so that it
 * can do what needs doing once. */
int emu_segment_arrive(struct emu_segment *s, unsigned barrier);
void emu_segment_release(struct emu_segment *s, unsigned barrier);

/* The same where there is nothing to do: 0 for the last one too. */
int emu_segment_barrier(struct emu_segment *s, unsigned barrier);

/* Every rank gives `bytes` (at most 256) and gets those of all, rank by rank, in `all`. */
int emu_segment_exchange(struct emu_segment *s, const void *mine, size_t bytes, void *all);

/* Rings the bell of `rank`; or waits a few milliseconds for one's own to differ from `seen`, and
 * says whether it does. */
void emu_segment_ring(struct emu_segment *s, uint32_t rank);
uint32_t emu_segment_bell(struct emu_segment *s);
int emu_segment_wait(struct emu_segment *s, uint32_t seen);

/* 0 while `rank` can be waited for; -ECONNRESET, or -ECANCELED after an abort. */
int emu_segment_check(struct emu_segment *s, uint32_t rank);
