/* SPDX-License-Identifier: Apache-2.0 */

/* A call that a generated hook forwards.
 *
 *     static const struct cap_plan_step plan[] = {...};
 *     uint64_t words[] = {a, b};
 *     struct cap_call c;
 *     bool on = cap_call_enter(&c, 17, TRAITS, plan, words);
 *     int r = real(words[0], words[1]);
 *     if (on)
 *             cap_call_leave(&c, r);
 *
 * Between the two calls nothing locks, allocates or calls the system, except on first use
 * (doc/design/capture.md).
 */
#pragma once

#include "capture/library/call/plan.h"
#include "capture/library/call/traits.h"

#include <stdbool.h>

/* Returns true if the call is recorded; then cap_call_leave() must follow. Both keep errno. */
bool cap_call_enter(struct cap_call *c, uint32_t api, uint32_t traits,
		    const struct cap_plan_step *plan, const uint64_t *words);
void cap_call_leave(struct cap_call *c, int64_t result);
