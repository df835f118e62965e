/* SPDX-License-Identifier: Apache-2.0 */

/* Buffers to be digested before later operations on their stream can change them. Buffers are
 * gathered: the results of one collective and the inputs of the next are digested by one launch.
 * Any thread. */
#pragma once

#include "capture/library/device/stream_ref.h"
#include "capture/library/digests/buffer.h"

#include <stddef.h>

/* Adds buffers whose contents at this point of the stream are to be digested. */
void cap_pending_add(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n);

/* Launches the pending digests of the stream; of all streams if `ref` is the legacy stream, which
 * waits for all of them, or NULL. Costs one load if nothing is pending. */
void cap_pending_flush(const struct cap_stream_ref *ref);

/* Launches those of every stream that has a pending buffer in this range. */
void cap_pending_flush_range(uint64_t address, uint64_t bytes);
