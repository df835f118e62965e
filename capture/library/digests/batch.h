/* SPDX-License-Identifier: Apache-2.0 */

/* Digests of buffers, computed on a stream: the kernel writes page sums straight into page-locked
 * memory (arena.h); the library's thread reads them there, combines them and writes the records.
 * No event, no copy, no wait.
 */
#pragma once

#include "capture/library/device/stream_ref.h"
#include "capture/library/digests/buffer.h"

#include <stddef.h>

/* Up to this many bytes of host memory are digested by the calling thread. */
#define CAP_HOST_BYTES 32768u

/* Looks up what is needed of the driver and of the kernel's image: 0, or -errno. */
int cap_batch_start(void);

/* Announces records for n buffers of the call: a digest each, and with --payloads its contents. On
 * the call's thread, before the call ends. */
void cap_batch_announce(uint64_t id, size_t n);

/* Loads code and allocates memory for the first digests in a context, which is current. This may
 * wait for the device, and must not happen later, while kernels wait for each other. Any thread. */
void cap_batch_prepare(void *context);

/* Launches the digests of all `buffers` on the stream, whose context is current. Buffers with the
 * same address and length are read once. Digests that cannot be made are counted. Any thread. */
void cap_batch_launch(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n);

/* Counts n digests that are not made; `result` is the driver's reason. */
void cap_batch_miss(size_t n, int result);

/* Digests host memory now, and writes the record. */
void cap_batch_host(const struct cap_buffer *b, const void *data);

/* On the library's thread: writes the records of finished batches. Returns how many are
 * outstanding. */
unsigned cap_batch_collect(void);

/* Records as a fact how many digests were not made, and why. */
void cap_batch_end(void);

/* The context is about to end: waits for its batches, but not for long. After its end: forgets it,
 * and counts the digests that are missing. */
void cap_batch_await(void *context);
void cap_batch_forget(const void *context);
