/* SPDX-License-Identifier: Apache-2.0 */

/* Current and ending contexts. A context ends when it is destroyed, or when the primary context of
 * a device is released or reset. This frees events and pinned memory of this library, so
 * outstanding work of the library must be collected before. Any thread. */
#pragma once

#include "capture/library/call/hook.h"
#include "formats/api/api.h"

#include <stdbool.h>

/* Makes `context` current. Returns 1 if cap_context_leave() must follow; 0 if it already was
 * current. */
int cap_context_enter(void *context);
void cap_context_leave(int entered);

/* Returns the context's device; -1: none. */
int cap_context_device(void *context);

/* Before a call of class DESTROY: returns the context that the call may end, or NULL. */
void *cap_context_to_destroy(const struct cap_call *c, const struct api_call *call);
/* After it: returns true if the call has ended that context. */
bool cap_context_is_destroyed(const struct cap_call *c, const struct api_call *call);
