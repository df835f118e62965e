/* SPDX-License-Identifier: Apache-2.0 */

/* Runs the hooks of call/hook.h in their order. */
#pragma once

#include "capture/library/call/hook.h"

/* Starts each hook that has not started; `hooks` must remain valid. Called by one thread at a time,
 * after cuInit. */
void cap_chain_start(const struct cap_hook *const *hooks, unsigned n);

/* Runs the hooks that handle the call, and lists them in c->hooks, which must be 0. */
void cap_chain_before(struct cap_call *c);
/* Runs the listed hooks. Hooks that started during the call are not listed. */
void cap_chain_after(struct cap_call *c);

void cap_chain_before_iteration(int64_t number);
void cap_chain_iteration(int64_t number, uint64_t id);
void cap_chain_thread_end(void);
/* Call end() and ended() of all hooks. */
void cap_chain_end(void);
void cap_chain_ended(void);

/* Between enter and leave the thread is in a hook: its calls are not recorded, and do not
 * invalidate the capture of a stream. Since a capture may begin at any time, rare calls that would
 * invalidate one also use cap_cu_relax_begin(). Calls nest. */
int cap_chain_enter(void);
void cap_chain_leave(int mode);
