/* SPDX-License-Identifier: Apache-2.0 */

/* Keyframes: all live memory of the process, page by page, for --payloads. The device is
 * synchronised; work that other threads launch meanwhile may change what is kept. Slow. */
#pragma once

#include <stdint.h>

/* Iteration `number` begins, and `id` is that of its mark: keeps a keyframe if it is the first one
 * of the range, every N-th of it, or the first one after it. */
void cap_keyframe_iteration(int64_t number, uint64_t id);

/* The process ends: keeps one if the range has begun and not ended. */
void cap_keyframe_end(void);
