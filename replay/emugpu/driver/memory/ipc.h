/* SPDX-License-Identifier: Apache-2.0 */

/* Events that two processes share. Any thread. */
#pragma once

#include "replay/emugpu/driver/graph/graph.h"
#include "replay/emugpu/driver/stream.h"

int emu_shared_new(struct emu_shared_event **ret); /* 0 or a negative errno */
void emu_shared_free(struct emu_shared_event *e, int owner);

/* Records it on a stream, or lets the stream wait for its last record. */
CUresult emu_shared_submit(struct emu_thread *self, struct emu_shared_event *e,
			   struct emu_stream *s, int records);

/* How many records there were; waiting for one of them in real time, which gives its virtual time;
 * and whether the last one has happened. */
uint32_t emu_shared_issued(const struct emu_shared_event *e);
int64_t emu_shared_wait(struct emu_shared_event *e, uint32_t number);
int emu_shared_known(const struct emu_shared_event *e, int64_t *end_ns);
