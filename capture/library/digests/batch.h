/* SPDX-License-Identifier: Apache-2.0 */

/* Buffers whose digests were asked for, computed on the stream that is told: the kernel writes page
 * sums straight into page-locked memory, and the library's thread sees them come, folds them and
 * puts the records. No event, no copy, no waiting.
 *
 * That a sum has come is seen from its words: before, they hold CAP_AWAITED. A real sum holds that
 * word with probability 2^-64; it would be waited for until the end, and then be taken as it is.
 */
#pragma once

#include "capture/library/device/place.h"

#include <stddef.h>
#include <stdint.h>

/* So much memory of the host is digested by the calling thread. */
#define CAP_HOST_BYTES 32768u
#define CAP_AWAITED 0x6770756361707475u

/* A buffer at one moment, for one record. */
struct cap_buffer {
	uint64_t id; /* of the call that reads or writes it */
	uint32_t index;
	uint32_t output; /* 0: read, 1: written */
	uint64_t address, bytes;
	uint64_t allocation, offset_bytes;
};

/* Everything that is needed of the driver and of the kernel's image is there: 0, or -errno. */
int cap_batch_start(void);

/* Says that n buffers of the call are to be digested: of each there will be a record, and another
 * where --payloads is on. On the call's thread, before it ends. */
void cap_batch_announce(uint64_t id, size_t n);

/* Code and memory that the first digests in a context need; the context is current. What makes them
 * may wait for the device, which must not be later, when kernels wait for others. Any thread. */
void cap_batch_prepare(void *context);

/* Launches the digests of all `buffers` on the stream. Buffers with the same address and length are
 * read once. The place's context is current. What cannot be done is counted. Any thread. */
void cap_batch_launch(const struct cap_place *place, const struct cap_buffer *buffers, size_t n);

/* So many will not be made: a driver's result says why. */
void cap_batch_miss(size_t n, int result);

/* Digests bytes of the host now, and puts the record. */
void cap_batch_host(const struct cap_buffer *b, const void *data);

/* On the library's thread: puts what has come; how many batches have not. */
unsigned cap_batch_collect(void);

/* Says how many digests were not made, and why, as a fact. */
void cap_batch_end(void);

/* The context ends: waits, a moment at most, for what is outstanding of it; and afterwards forgets
 * it, and counts what did not come. */
void cap_batch_await(void *context);
void cap_batch_forget(const void *context);
