/* SPDX-License-Identifier: Apache-2.0 */

/* Contexts: which one is current, and which one ends. A context that is destroyed, or the primary
 * context of a device that is released or reset, takes events and page-locked memory of this
 * library along: outstanding work of the library has to be collected before. Any thread. */
#pragma once

#include "capture/library/call/hook.h"
#include "formats/api/api.h"

#include <stdbool.h>

/* Makes `context` the current one if it is not: 1, and cap_context_leave() must follow; else 0. */
int cap_context_enter(void *context);
void cap_context_leave(int entered);

/* The context's device; -1: none. */
int cap_context_device(void *context);

/* Before a call of class DESTROY: the context that the call may end, or NULL. */
void *cap_context_ending(const struct cap_call *c, const struct api_call *call);
/* After it: whether it has ended that context. */
bool cap_context_ended(const struct cap_call *c, const struct api_call *call);
