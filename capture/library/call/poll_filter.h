/* SPDX-License-Identifier: Apache-2.0 */

/* Filters repeated queries of polling threads. Recording each call would fill the ring and take
 * processor time from the work that the program waits for. A call is left out if the thread has
 * made the same call with the same result since a stream or event was last found not ready. All
 * calls left out before the next record become one record, CAP_CALL_REPEATED, from the start of the
 * first to the end of the last. */
#pragma once

#include "capture/library/call/hook.h"
#include "capture/library/ring/ring.h"

/* Called after a query (CAP_TRAITS_QUERY) returned. Returns true if it is left out. */
bool cap_poll_filter(struct cap_thread *t, const struct cap_call *c);
