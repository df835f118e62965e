/* SPDX-License-Identifier: Apache-2.0 */

/* Assigns device times to operations. Times usually arrive long after the operation, but may arrive
 * first. Keeps only unmatched operations and times. One thread. */
#pragma once

#include "formats/run/gpucapture/process/process.h"

/* Processes a record. Returns 0 or -ENOMEM. */
int rec_add_times(struct rec_process *p, const struct cap_times_record *t);

/* Drops the times of an operation that has no event. */
int rec_times_ignore(struct rec_process *p, uint64_t id);
/* Registers an operation, by its event, as waiting for its times. */
int rec_times_expect(struct rec_process *p, uint32_t event);

/* First reading: the latest collective waits for the times of the operation of call `id`. */
int rec_times_expect_planned(struct rec_process *p, uint64_t id);

/* Returns the number of operations without times. */
uint64_t rec_times_missing(const struct rec_process *p);

/* Returns the first operation >= `from` whose times are outstanding and not lost, or REC_NONE. */
uint32_t rec_times_first_pending(const struct rec_process *p, uint32_t from);
