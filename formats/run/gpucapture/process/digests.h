/* SPDX-License-Identifier: Apache-2.0 */

/* Assigns digests and contents to operations. A digest may arrive before or after its operation,
 * from any thread. One thread. */
#pragma once

#include "formats/run/gpucapture/process/process.h"

/* Append a record; `at_ns` is the time of a live one. Return 0 or a negative errno. */
int rec_add_digest(struct rec_process *p, const struct cap_digest_record *d, int64_t at_ns);
int rec_add_content(struct rec_process *p, const struct cap_payload_record *r, int64_t at_ns);

/* Announces that `n` digests of call `id` will follow. Returns 0 or -ENOMEM. */
int rec_digests_expect(struct rec_process *p, uint64_t id, uint32_t n);
/* Maps call `id` to its event. */
void rec_digests_set_event(struct rec_process *p, uint64_t id, uint32_t event);
/* Returns the first event >= `from` with outstanding digests, or REC_NONE. */
uint32_t rec_digests_first_pending(const struct rec_process *p, uint32_t from);

/* Drops the digests of removed events after placing them, and counts late digests. to[] maps old
 * event numbers to new ones. Returns 0 or a negative errno. */
int rec_digests_renumber(struct rec_process *p, const uint32_t *to);
