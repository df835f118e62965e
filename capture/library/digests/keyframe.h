/* SPDX-License-Identifier: Apache-2.0 */

/* Keyframes: all live memory of the process, page by page, for --payloads. Synchronises the device;
 * work that other threads launch meanwhile may change the contents. Slow. */
#pragma once

#include <stdint.h>

/* Iteration `number` begins, and `id` is that of its marker: stores a keyframe if it is the first
 * iteration of the range, every N-th of it, or the first one after it. */
void cap_keyframe_iteration(int64_t number, uint64_t id);

/* Called when the process exits: stores a keyframe if the range has begun and not ended. */
void cap_keyframe_end(void);
