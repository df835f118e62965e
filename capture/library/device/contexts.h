/* SPDX-License-Identifier: Apache-2.0 */

/* Contexts go, by their handle or as the primary one of a device, and take events and page-locked
 * memory of ours along: what is outstanding of them has to come before. */
#pragma once

#include "capture/library/device/hook.h"
#include "formats/api/api.h"

#include <stdbool.h>

/* Before a call of class DESTROY: the context that it may end, or NULL. */
void *cap_context_ending(const struct cap_call *c, const struct api_call *call);
/* After it: whether it has ended that one. */
bool cap_context_ended(const struct cap_call *c, const struct api_call *call);
