/* SPDX-License-Identifier: Apache-2.0 */

/* Contents of buffers, for --payloads: copied to page-locked memory on the buffer's stream, and
 * kept as a blob by the library's thread; equal contents are stored once. No thread waits for a
 * copy: it may come after a collective that other threads have to join. Slow; off by default. */
#pragma once

#include "capture/library/device/stream_ref.h"
#include "capture/library/digests/buffer.h"

#include <stddef.h>

/* An iteration has begun. Before the first one all contents are kept: the recorder drops what is
 * outside of the range. */
void cap_payload_iteration(int64_t number);

/* Whether --payloads is on: each buffer gives a record, also if its contents are not kept. */
bool cap_payload_is_on(void);

/* Keeps the buffers' contents after the stream's work so far. The stream's context is current. */
void cap_payload_keep(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n);

/* Keeps bytes of the host; NULL: they could not be read. */
void cap_payload_host(const struct cap_buffer *b, const void *data);

/* For cap_collector_add(). */
unsigned cap_payload_collect(void);
/* Whether no copies are outstanding, in any context. */
bool cap_payload_is_done(void);
