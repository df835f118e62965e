/* SPDX-License-Identifier: Apache-2.0 */

/* Capture of streams into graphs, for calls on streams (implemented in graph/capture.c). */
#pragma once

#include "replay/emugpu/driver/cuda_api.h"

struct emu_event;
struct emu_op;
struct emu_stream;
struct emu_thread;

/* Adds `op` as the next node of the capture that `s` takes part in. Takes over what `op` owns, also
 * on failure. */
CUresult emu_capture_add(struct emu_stream *s, struct emu_op *op);

/* Invalidates the capture that `s` takes part in, for a call that is not allowed during a capture;
 * returns the error to return. */
CUresult emu_capture_invalidate(struct emu_stream *s);

/* Captures that `s` waits for `e`. One of the two takes part in a capture. */
CUresult emu_capture_wait(struct emu_stream *s, struct emu_event *e);

/* Captures that `e` is recorded on `s`, which takes part in a capture. */
CUresult emu_capture_record(struct emu_stream *s, struct emu_event *e);

/* Checks that a capture in progress permits the calling thread a call that would disturb it;
 * otherwise invalidates the capture and returns the error to return. */
CUresult emu_capture_check(struct emu_thread *self);
