/* SPDX-License-Identifier: Apache-2.0 */

/* Keyframes: all live memory of the process, page by page, for --payloads. Waits for all devices,
 * and holds the calls of other threads meanwhile. A device may wait for the calling thread: if a
 * collective was launched for all other ranks. Then there is no keyframe. Slow. */
#pragma once

#include "capture/library/call/hook.h"

#include <stdbool.h>
#include <stdint.h>

/* Call before iteration `number` is marked: if a keyframe is to be stored, holds the calls of other
 * threads until cap_keyframe_iteration(). */
void cap_keyframe_prepare(int64_t number);

/* Call before a call: waits while another thread holds calls. */
void cap_keyframe_await(void);
/* Call after a call that changes memory or objects. */
void cap_keyframe_note_call(const struct cap_call *c);

/* Iteration `number` begins: stores a keyframe if it is the first iteration of the range, every
 * N-th of it, or the first one after it. */
void cap_keyframe_iteration(int64_t number);

/* Called when the process exits: stores a keyframe if the range has begun and not ended. */
void cap_keyframe_end(void);

/* Waits for all work of the contexts, also for operations that are not timed: those before a
 * window. They may wait for a call that this or another thread cannot make now, so a thread of the
 * library waits for them. Returns false if they have not ended after 0.1 s. */
bool cap_keyframe_finish(void);
