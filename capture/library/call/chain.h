/* SPDX-License-Identifier: Apache-2.0 */

/* Runs the hooks of call/hook.h in their order. */
#pragma once

#include "capture/library/call/hook.h"

/* Starts each of the hooks that has not started; the array stays. For one thread at a time, when
 * cuInit has been called. */
void cap_chain_start(const struct cap_hook *const *hooks, unsigned n);

/* Runs the hooks that handle the call, and lists them in c->hooks, which is 0 before. */
void cap_chain_before(struct cap_call *c);
/* Runs the listed hooks: a hook that started during the call has not seen its beginning. */
void cap_chain_after(struct cap_call *c);

void cap_chain_iteration(int64_t number, uint64_t id);
void cap_chain_thread_end(void);
/* end() and ended() of all hooks. */
void cap_chain_end(void);
void cap_chain_ended(void);

/* Between the two calls the thread is in a hook: its calls are not recorded, and while a stream is
 * captured they do not end that capture. Since a capture may begin at any time, rare calls that
 * would end one also use cap_cu_relax(). Calls nest. */
int cap_chain_enter(void);
void cap_chain_leave(int mode);
