/* SPDX-License-Identifier: Apache-2.0 */

/* The hooks of hook.h, run in their order. */
#pragma once

#include "capture/library/state.h"

/* Runs the hooks that want the call, and lists them in c->hooks, which is 0 before; then those that
 * are listed: a hook that starts during a call has not seen its beginning. */
void cap_chain_before(struct cap_call *c);
void cap_chain_after(struct cap_call *c);

/* Around hooks, and what is done like one. Where a stream is being captured, calls of ours must not
 * spoil that. What would is rare, and does so itself as well, since a capture may begin at any
 * time.
 */
int cap_chain_enter(void);
void cap_chain_leave(int mode);

/* cuInit has been called: starts each hook that has not. For one thread at a time. */
void cap_chain_start(void);
void cap_chain_iteration(int64_t number, uint64_t id);
void cap_chain_thread_end(void);
void cap_chain_end(void);
