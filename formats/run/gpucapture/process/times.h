/* SPDX-License-Identifier: Apache-2.0 */

/* The times of operations on their way to these: a time may come before the operation was looked
 * at, and comes long after it as a rule. Only what still waits for the other is kept. One thread.
 */
#pragma once

#include "formats/run/gpucapture/process/process.h"

/* Take a record. 0 or -ENOMEM. */
int rec_add_times(struct rec_process *p, const struct cap_times_record *t);
int rec_add_node_times(struct rec_process *p, const struct cap_nodes_record *t);

/* The call has no such operation: what comes of it is dropped. */
int rec_times_ignore(struct rec_process *p, uint64_t id, uint32_t index);
/* The operation, by its number among the process's events, is there. */
int rec_times_await(struct rec_process *p, uint32_t event);

/* First reading: the collective that was added last waits for the times of the operation with that
 * id and index. */
int rec_times_await_planned(struct rec_process *p, uint64_t id, uint32_t index);

/* The number of operations without times. */
uint64_t rec_times_missing(const struct rec_process *p);

/* The first operation from `from` on that waits for its times, and may get them; REC_NONE. */
uint32_t rec_times_first(const struct rec_process *p, uint32_t from);
