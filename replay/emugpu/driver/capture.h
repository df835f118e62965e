/* SPDX-License-Identifier: Apache-2.0 */

/* Stream capture into graphs, for calls on streams (implemented in graph/capture.c). */
#pragma once

#include "replay/emugpu/driver/cuda_api.h"

struct emu_event;
struct emu_op;
struct emu_stream;
struct emu_thread;

/* Adds `op` as the next node of the stream's capture. Takes ownership of the data of `op`, also on
 * failure. */
CUresult emu_capture_add(struct emu_stream *s, struct emu_op *op);

/* Invalidates the stream's capture because of a call that is not allowed during a capture. Returns
 * the error for the caller to return. */
CUresult emu_capture_invalidate(struct emu_stream *s);

/* Captures that `s` waits for `e`, at least one of which is in a capture. */
CUresult emu_capture_wait(struct emu_stream *s, struct emu_event *e);

/* Captures that `e` is recorded on `s`, which is in a capture. */
CUresult emu_capture_record(struct emu_stream *s, struct emu_event *e);

/* Checks that captures in progress allow the calling thread an unsafe call. Otherwise invalidates
 * the capture and returns the error for the caller to return. */
CUresult emu_capture_check(struct emu_thread *self);
