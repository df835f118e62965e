/* SPDX-License-Identifier: Apache-2.0 */

/* Digests of buffers, and the names of their contents, on their way to the operations that read or
 * wrote them: they come before or after these, from any thread. One thread. */
#pragma once

#include "formats/run/gpucapture/process/process.h"

/* Both append what came. 0 or a negative errno. */
int rec_add_digest(struct rec_process *p, const struct cap_digest_record *d);
int rec_add_content(struct rec_process *p, const struct cap_payload_record *r);

/* So many are to come of the call. 0 or -ENOMEM. */
int rec_digests_announced(struct rec_process *p, uint64_t id, uint32_t n);
/* The call is the event. */
void rec_digests_await(struct rec_process *p, uint64_t id, uint32_t event);
/* The first event from `from` on of which some are still to come; REC_NONE. */
uint32_t rec_digests_first(const struct rec_process *p, uint32_t from);

/* Forgets those of events that are gone, after they were placed; what came too late is counted.
 * to[] has the new numbers of the others. 0 or a negative errno. */
int rec_digests_carry(struct rec_process *p, const uint32_t *to);
