/* SPDX-License-Identifier: Apache-2.0 */

/* The hook that times operations (--device-times). Any thread. */
#pragma once

#include "capture/library/device/stream_ref.h"

#include <stdbool.h>

extern const struct cap_hook cap_times;

struct cap_stream;

/* Called before and after a launch that no other hook handles. `stream` is the program's handle.
 * Returns NULL if the launch is not timed. Both keep errno. */
struct cap_stream *cap_times_before_launch(void *stream, bool per_thread);
/* Records the time of a successful launch. `start` is in the clock of the thread's ring. */
void cap_times_after_launch(struct cap_stream *s, uint64_t id, uint64_t start);

/* Something other than an operation of the program delays the stream: the next operation may start
 * later than the last one ended. No effect if times are off. */
void cap_times_interrupt(const struct cap_stream_ref *ref);
