/* SPDX-License-Identifier: Apache-2.0 */

/* Events that two processes share (cuIpcGetEventHandle). Any thread. */
#pragma once

#include "replay/emugpu/driver/op.h"

/* Returns 0 or a negative errno. */
int emu_shared_new(struct emu_shared_event **ret);
/* Maps an event of another process from its file; the caller keeps `fd`. */
int emu_shared_open(int fd, struct emu_shared_event **ret);
void emu_shared_free(struct emu_shared_event *e, int owner);

/* Returns the owner's descriptor of the event's file. */
int emu_shared_file(const struct emu_shared_event *e);

/* Returns an op that records the event, or that waits for its last record. */
struct emu_op emu_shared_op(struct emu_shared_event *e, int records);

/* Returns the number of records submitted so far. */
uint32_t emu_shared_issued(const struct emu_shared_event *e);

/* Waits in real time for record `number`; returns its virtual time. */
int64_t emu_shared_wait(struct emu_shared_event *e, uint32_t number);

/* Returns 1 if the last record has happened, and its virtual time. */
int emu_shared_known(const struct emu_shared_event *e, int64_t *end_ns);
