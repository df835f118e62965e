/* SPDX-License-Identifier: Apache-2.0 */

/* Digests of buffers, computed on a stream: the kernel writes page sums directly into pinned memory
 * (arena.h). The library's thread reads and combines them and writes the records. Uses no event, no
 * copy and no wait. */
#pragma once

#include "capture/library/device/stream_ref.h"
#include "capture/library/digests/buffer.h"

#include <stddef.h>

/* The calling thread digests at most this many bytes of host memory. */
#define CAP_HOST_BYTES 32768u

/* Looks up driver functions and the kernel's image. Returns 0, or -errno. */
int cap_batch_start(void);

/* Announces records for n buffers of the call: a digest each, and with --payloads its contents.
 * Called on the call's thread, before the call ends. */
void cap_batch_announce(uint64_t id, size_t n);

/* Loads code and allocates memory for the first digests in the current context. This may wait for
 * the device, so it must not happen later, while kernels wait for each other. Any thread. */
void cap_batch_prepare(void *context);

/* Launches the digests of all `buffers` on the stream, whose context must be current. Buffers with
 * the same address and length are read once. Counts digests that cannot be computed. Any thread. */
void cap_batch_launch(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n);

/* Counts n missing digests; `result` is the driver's reason. */
void cap_batch_count_missed(size_t n, int result);

/* Digests host memory now, and writes the record. */
void cap_batch_digest_host(const struct cap_buffer *b, const void *data);

/* Writes the records of finished batches. Returns the number of outstanding batches. Any thread. */
unsigned cap_batch_collect(void);

/* Records the number of missing digests and the reason as a fact. */
void cap_batch_end(void);

/* cap_batch_wait_context(): the context is about to end; waits a short time for its batches.
 * cap_batch_drop_context(): the context has ended; drops it and counts its missing digests. */
void cap_batch_wait_context(void *context);
void cap_batch_drop_context(const void *context);
