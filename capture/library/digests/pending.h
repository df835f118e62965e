/* SPDX-License-Identifier: Apache-2.0 */

/* Buffers that must be digested before later operations on their stream change them. They are
 * gathered: one launch digests the results of one collective and the inputs of the next. Any
 * thread. */
#pragma once

#include "capture/library/device/stream_ref.h"
#include "capture/library/digests/buffer.h"

#include <stddef.h>

/* Adds buffers whose contents at this point of the stream will be digested. */
void cap_pending_add(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n);

/* Launches the pending digests of the stream. If `ref` is the legacy stream, which waits for all
 * streams, or NULL: those of all streams. Costs one load if nothing is pending. */
void cap_pending_flush(const struct cap_stream_ref *ref);

/* Launches the pending digests of every stream with a pending buffer in this range. */
void cap_pending_flush_range(uint64_t address, uint64_t bytes);
