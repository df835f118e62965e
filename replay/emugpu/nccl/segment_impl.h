/* SPDX-License-Identifier: Apache-2.0 */

/* For segment.c and post.c. */
#pragma once

#include "replay/emugpu/nccl/segment.h"

enum { EMU_CHECK_NS = 20 * 1000 * 1000 }; /* interval of liveness checks during waits */

static inline struct emu_posting *emu_posting_of(const struct emu_segment *s, uint64_t operation)
{
	return (struct emu_posting *)(s->base + s->entries_at) + operation % EMU_WINDOW;
}

/* Futexes shared between processes; a wait ends after `ns` at the latest. */
void emu_futex_wake(uint32_t *word);
void emu_futex_wait(uint32_t *word, uint32_t seen, long ns);

/* Returns 0, or why the communicator failed: -ECONNRESET or -ECANCELED. */
int emu_segment_state(struct emu_segment *s);
/* Checks that all ranks are alive, and returns emu_segment_state(). */
int emu_segment_check_all(struct emu_segment *s);
