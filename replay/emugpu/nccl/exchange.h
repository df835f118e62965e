/* SPDX-License-Identifier: Apache-2.0 */

/* One NCCL operation on one rank: exchanges and reduces data with the other ranks through shared
 * memory, and computes the end in virtual time. */
#pragma once

#include "replay/cost/nccl.h"
#include "replay/emugpu/math/reduce.h"
#include "replay/emugpu/nccl/segment.h"

struct emu_operation {
	enum cost_collective kind;
	enum emu_type type;
	enum emu_reduction reduction;
	uint32_t root;
	uint64_t count; /* elements, as counted by the API of each kind */
	const void *send;
	void *receive;
	double scalar; /* EMU_PREMUL: this rank's factor */
};

/* Runs a collective (not SEND_RECV). ready_ns is the earliest start on this rank, duration_ns the
 * duration known to this rank; *end_ns is the common end (moment.h). Returns 0, an error of
 * emu_segment_arrive(), or -EINVAL if the ranks call different operations. */
int emu_exchange(struct emu_segment *s, const struct emu_operation *o, int64_t ready_ns,
		 int64_t duration_ns, int64_t *end_ns);

/* The two halves of emu_exchange(): emu_exchange_post() posts this rank's next operation, whose
 * input must be complete; emu_exchange_finish() ends the oldest posted one. The operation starts at
 * ready_ns or later, and gap_ns after the previously posted one unless gap_ns is negative.
 * emu_exchange_post() returns 0, 1 if all ranks have arrived, -EAGAIN if the window is full and it
 * may not wait, or an error as above. */
int emu_exchange_post(struct emu_segment *s, const struct emu_operation *o, int64_t ready_ns,
		      int64_t gap_ns, int64_t duration_ns, int may_wait);
int emu_exchange_finish(struct emu_segment *s, const struct emu_operation *o, int64_t *end_ns);

/* Return the bytes of a rank's input and output. */
uint64_t emu_exchange_in(const struct emu_operation *o, uint32_t ranks);
uint64_t emu_exchange_out(const struct emu_operation *o, uint32_t ranks);

/* One send or receive of a group. */
struct emu_message {
	void *data;
	uint64_t bytes;
	uint32_t peer;
	uint32_t receives; /* 0: a send */
};

/* A message for which the two ranks passed different sizes. */
struct emu_mismatch {
	uint32_t sender, receiver;
	uint64_t sent_bytes, expected_bytes;
};

/* Runs all transfers as one kernel, which starts when the last peer is ready and takes duration_ns
 * on this rank. Returns 0, an error of emu_segment_check(), or -EINVAL and *mismatch if sizes
 * differ. */
int emu_messages(struct emu_segment *s, const struct emu_message *transfers, uint32_t n,
		 int64_t ready_ns, int64_t duration_ns, int64_t *end_ns,
		 struct emu_mismatch *mismatch);
