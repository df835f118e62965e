/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/call/chain.h"

#include "capture/library/find/cu.h"
#include "capture/library/ring/ring.h"
#include "formats/api/words.h"

#include <errno.h>
#include <string.h>

static const struct cap_hook *const *chain;
static unsigned n_hooks;
static uint32_t running; /* bit of each started hook; publishes `chain` and the hook's state */

static uint32_t launches_of(const struct cap_hook *hook)
{
	if (!(hook->classes >> API_CLASS_LAUNCH & 1))
		return 0;
	return hook->launches ? hook->launches : CAP_LAUNCH_CHAINED;
}

void cap_chain_start(const struct cap_hook *const *hooks, unsigned n)
{
	int kept = errno;

	chain = hooks;
	n_hooks = n;
	cap_self.hooking++;
	for (unsigned i = 0; i < n; i++) {
		if (running >> i & 1 || hooks[i]->start() != 0)
			continue;
		__atomic_fetch_or(&running, 1u << i, __ATOMIC_RELEASE);
		__atomic_fetch_or(&cap_process.hooked, hooks[i]->classes, __ATOMIC_RELEASE);
		__atomic_fetch_or(&cap_process.launch_hooks, launches_of(hooks[i]),
				  __ATOMIC_RELEASE);
	}
	cap_self.hooking--;
	errno = kept;
}

/* Returns the index of the next running hook from `i`; -1: none. */
static int next_running(unsigned i)
{
	uint32_t left = __atomic_load_n(&running, __ATOMIC_ACQUIRE) >> i;

	return left ? (int)(i + (unsigned)__builtin_ctz(left)) : -1;
}

#define NOTHING_CAPTURED (-2)

int cap_chain_enter(void)
{
	cap_self.hooking++;
	if (__atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) == 0)
		return NOTHING_CAPTURED;
	return cap_cu_relax_begin();
}

void cap_chain_leave(int mode)
{
	if (mode != NOTHING_CAPTURED)
		cap_cu_relax_end(mode);
	cap_self.hooking--;
}

static int hook_handles(const struct cap_hook *hook, const struct cap_call *c)
{
	return (c->paused ? hook->always : hook->classes) >> c->class & 1;
}

void cap_chain_before(struct cap_call *c)
{
	int kept = errno, mode = cap_chain_enter();

	memset(&c->notes, 0, sizeof(c->notes));
	for (int i = 0; (i = next_running((unsigned)i)) >= 0; i++) {
		if (!hook_handles(chain[i], c))
			continue;
		c->hooks |= 1u << i;
		if (chain[i]->before)
			chain[i]->before(c);
	}
	cap_chain_leave(mode);
	errno = kept;
}

void cap_chain_after(struct cap_call *c)
{
	int kept = errno, mode = cap_chain_enter();

	for (unsigned i = n_hooks; i-- > 0;)
		if ((c->hooks >> i & 1) && chain[i]->after)
			chain[i]->after(c);
	cap_chain_leave(mode);
	errno = kept;
}

void cap_chain_before_iteration(int64_t number)
{
	int mode = cap_chain_enter();

	for (int i = 0; (i = next_running((unsigned)i)) >= 0; i++)
		if (chain[i]->before_iteration)
			chain[i]->before_iteration(number);
	cap_chain_leave(mode);
}

void cap_chain_iteration(int64_t number, uint64_t id)
{
	int mode = cap_chain_enter();

	for (int i = 0; (i = next_running((unsigned)i)) >= 0; i++)
		if (chain[i]->iteration)
			chain[i]->iteration(number, id);
	cap_chain_leave(mode);
}

void cap_chain_thread_end(void)
{
	cap_self.hooking++;
	for (int i = 0; (i = next_running((unsigned)i)) >= 0; i++)
		if (chain[i]->thread_end)
			chain[i]->thread_end();
	cap_self.hooking--;
}

void cap_chain_end(void)
{
	for (int i = 0; (i = next_running((unsigned)i)) >= 0; i++)
		if (chain[i]->end)
			chain[i]->end();
}

void cap_chain_ended(void)
{
	for (int i = 0; (i = next_running((unsigned)i)) >= 0; i++)
		if (chain[i]->ended)
			chain[i]->ended();
}
