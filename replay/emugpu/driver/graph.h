/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs, and streams that are being captured into one. */
#pragma once

#include "replay/emugpu/driver/stream.h"

/* `op`, which is passed on, as the next node of the capture that `s` takes part in. */
CUresult emu_capture_add(struct emu_stream *s, struct emu_op *op);

/* What a call does that a capture does not allow; returns the error to give. */
CUresult emu_capture_spoil(struct emu_stream *s);

/* `s` waits for `e`, where one of them is captured. */
CUresult emu_capture_wait(struct emu_stream *s, struct emu_event *e);

/* `e` is recorded on `s`, which is captured. */
CUresult emu_capture_record(struct emu_stream *s, struct emu_event *e);

/* Whether a call that would disturb a capture may go on in this thread. */
CUresult emu_capture_allows(struct emu_thread *self);
