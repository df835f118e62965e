/* SPDX-License-Identifier: Apache-2.0 */

/* The work of one operation of NCCL on one rank: it meets the others in the shared memory, moves
 * and reduces the bytes, and learns when it ends. */
#pragma once

#include "replay/emugpu/math/reduce.h"
#include "replay/emugpu/nccl/cost.h"
#include "replay/emugpu/nccl/segment.h"

struct emu_operation {
	enum emu_collective kind;
	enum emu_type type;
	enum emu_reduction reduction;
	uint32_t root;
	uint64_t count; /* elements: as the API of each kind counts them */
	const void *send;
	void *receive;
	double scalar; /* of EMU_PREMUL: this rank's */
};

/* Does a collective (not SEND_RECV) that this rank could start at ready_ns, and that takes
 * duration_ns as far as it knows; *end_ns is when it ends for all (moment.h). 0, or as
 * emu_segment_arrive(); -EINVAL where the ranks call different things. */
int emu_exchange(struct emu_segment *s, const struct emu_operation *o, int64_t ready_ns,
		 int64_t duration_ns, int64_t *end_ns);

/* The two halves of it, where one may run ahead of the other: this rank's part in its next
 * operation, whose input must be there; and the end of its oldest one. It could start `gap_ns`
 * after the operation posted before it, unless that is negative, and not before ready_ns.
 * emu_exchange_post() returns 0, 1 where all have come, -EAGAIN where the ranks are too far apart
 * and it may not wait, or as above. */
int emu_exchange_post(struct emu_segment *s, const struct emu_operation *o, int64_t ready_ns,
		      int64_t gap_ns, int64_t duration_ns, int may_wait);
int emu_exchange_finish(struct emu_segment *s, const struct emu_operation *o, int64_t *end_ns);

/* The bytes that a rank gives, and gets. */
uint64_t emu_exchange_in(const struct emu_operation *o, uint32_t ranks);
uint64_t emu_exchange_out(const struct emu_operation *o, uint32_t ranks);

/* One send or receive of a group. */
struct emu_transfer {
	void *data;
	uint64_t bytes;
	uint32_t peer;
	uint32_t receives; /* 0: a send */
};

/* A message of which the two ranks gave different sizes. */
struct emu_mismatch {
	uint32_t sender, receiver;
	uint64_t sent_bytes, expected_bytes;
};

/* Does all of them at once: they are one kernel, which starts when the last of the peers can, and
 * takes duration_ns on this rank. 0, or as emu_segment_check(); -EINVAL and *mismatch where sizes
 * differ. */
int emu_transfer(struct emu_segment *s, const struct emu_transfer *transfers, uint32_t n,
		 int64_t ready_ns, int64_t duration_ns, int64_t *end_ns,
		 struct emu_mismatch *mismatch);
