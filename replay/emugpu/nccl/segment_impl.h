/* SPDX-License-Identifier: Apache-2.0 */

/* A rank's view of the shared memory, for segment.c and post.c. */
#pragma once

#include "replay/emugpu/nccl/segment.h"

enum { EMU_CHECK_NS = 20 * 1000 * 1000 }; /* interval of liveness checks during waits */

struct emu_segment {
	uint8_t *base;
	size_t bytes;
	uint32_t n, rank;
	uint32_t phases[EMU_BARRIERS]; /* completed by this rank */
	uint64_t posted, retired;      /* number of operations posted and retired by this rank */
	struct emu_segment_memory memory;
	size_t members_at, channels_at, rings_at, ring_bytes, slots_at, slot_bytes;
	size_t entries_at, arrivals_at, small_at, small_bytes;
};

static inline struct emu_posting *emu_posting_of(const struct emu_segment *s, uint64_t operation)
{
	return (struct emu_posting *)(s->base + s->entries_at) + operation % EMU_WINDOW;
}

/* Futexes shared between processes; a wait ends after `ns` at the latest. */
void emu_futex_wake(uint32_t *word);
void emu_futex_wait(uint32_t *word, uint32_t seen, long ns);

/* Returns 0, or why the communicator failed: -ECONNRESET or -ECANCELED. */
int emu_segment_state(struct emu_segment *s);
/* The same, after a liveness check of all ranks. */
int emu_segment_check_all(struct emu_segment *s);
