/* SPDX-License-Identifier: Apache-2.0 */

/* Buffers that are to be digested before the next work on their stream may change them: so what one
 * collective wrote goes along with what the next one reads, in one launch. Any thread. */
#pragma once

#include "capture/library/digests/batch.h"

/* Adds buffers that hold now, in the stream's order, what is to be digested. */
void cap_pending_add(const struct cap_place *place, const struct cap_buffer *buffers, size_t n);

/* Launches what is pending on the stream; on all streams if it is the legacy stream, which waits
 * for all, or NULL. Costs a load when nothing is pending. */
void cap_pending_flush(const struct cap_place *place);

/* The same if a pending buffer of any stream overlaps these bytes. */
void cap_pending_flush_range(uint64_t address, uint64_t bytes);
