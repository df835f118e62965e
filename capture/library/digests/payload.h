/* SPDX-License-Identifier: Apache-2.0 */

/* Contents of buffers, for --payloads: copied to pinned memory on the buffer's stream, and stored
 * as a blob by the library's thread; equal contents are stored once. Slow; off by default. */
#pragma once

#include "capture/library/device/stream_ref.h"
#include "capture/library/digests/buffer.h"

#include <stddef.h>

/* Begins an iteration. Before the first one all contents are stored; the recorder drops contents
 * outside of the range. */
void cap_payload_iteration(int64_t number);

/* Returns true if --payloads is on: each buffer gets a record, even if its contents are not
 * stored. */
bool cap_payload_is_enabled(void);

/* Stores the buffers' contents after the operations now on the stream, whose context must be
 * current. */
void cap_payload_store(const struct cap_stream_ref *ref, const struct cap_buffer *buffers,
		       size_t n);

/* Waits while too many contents of the context are outstanding. They may be queued after a
 * collective that threads of other contexts have to join, so the caller must hold no lock; if the
 * device makes no progress, later contents are not stored. */
void cap_payload_await(void *context);

/* Stores host memory; NULL: it could not be read. */
void cap_payload_store_host(const struct cap_buffer *b, const void *data);

/* For cap_collector_add(). */
unsigned cap_payload_collect(void);
/* Returns true if no copies are outstanding in any context. */
bool cap_payload_is_done(void);
/* The context was destroyed, and its page-locked memory with it. */
void cap_payload_drop_context(void *context);
