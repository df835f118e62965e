/* SPDX-License-Identifier: Apache-2.0 */

/* Contents of buffers, for --payloads: copied to the host on the buffer's own stream, which is
 * waited for, and kept as a blob, once for each content. Slow, and off unless asked for. */
#pragma once

#include "capture/library/digests/batch.h"

/* The iteration that has begun. Until a program marks its first one, all contents are kept, and the
 * recorder drops what lies outside of the range. */
void cap_payload_iteration(int64_t number);

/* Whether any are: then each buffer gives a record, also where its contents are not kept. */
int cap_payload_asked(void);

/* Keeps the buffers as they are once the stream's work so far is done. */
void cap_payload_keep(const struct cap_place *place, const struct cap_buffer *buffers, size_t n);

/* Keeps bytes of the host; NULL: they could not be read. */
void cap_payload_host(const struct cap_buffer *b, const void *data);
