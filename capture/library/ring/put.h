/* SPDX-License-Identifier: Apache-2.0 */

/* Records other than calls, written into the calling thread's ring, and contents kept as files. Any
 * thread. If the ring is full the thread waits, then drops the record (formats/raw/ring.h). */
#pragma once

#include "formats/raw/record.h"

#include <stddef.h>
#include <stdint.h>

/* Returns space for a record of `bytes` (a multiple of 8, at most an eighth of the ring), which the
 * caller fills and then publishes. NULL: the record was counted as lost. */
void *cap_reserve(uint32_t bytes, enum cap_record_kind kind);
void cap_publish(void);

void cap_put_times(uint64_t id, int64_t start_ns, int64_t end_ns);
void cap_put_fact(const char *key, const char *value, size_t value_len);

/* Stores `bytes` as blob-HASH in the session folder; equal contents are stored once. Returns 0, or
 * a negative errno: -ENOSPC if the file system is full. */
int cap_put_blob(const void *bytes, uint64_t len, uint64_t ret_hash[2]);
