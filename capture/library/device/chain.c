/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/chain.h"
#include "capture/library/device/cu.h"
#include "capture/library/device/drainer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#pragma weak cap_allocations
#pragma weak cap_digests
#pragma weak cap_times

#define N_HOOKS 3
static const struct cap_hook *const chain[N_HOOKS] = {&cap_allocations, &cap_digests, &cap_times};
static bool runs[N_HOOKS]; /* was started, and did not fail */

void cap_chain_init(void)
{
	for (int i = 0; i < N_HOOKS; i++)
		if (chain[i] && !chain[i]->start) {
			runs[i] = true;
			cap_process.hooked |= chain[i]->classes;
		}
}

void cap_chain_start(void)
{
	int kept = errno;

	cap_self.hooking++;
	for (int i = 0; i < N_HOOKS; i++)
		if (chain[i] && chain[i]->start && !runs[i] && chain[i]->start() == 0) {
			runs[i] = true;
			__atomic_fetch_or(&cap_process.hooked, chain[i]->classes, __ATOMIC_RELEASE);
		}
	cap_self.hooking--;
	errno = kept;
}

#define NOTHING_CAPTURED (-2)

int cap_chain_enter(void)
{
	cap_self.hooking++;
	if (__atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) == 0)
		return NOTHING_CAPTURED;
	return cap_relax();
}

void cap_chain_leave(int mode)
{
	if (mode != NOTHING_CAPTURED)
		cap_unrelax(mode);
	cap_self.hooking--;
}

static bool wants(int i, const struct cap_call *c)
{
	return runs[i] && (chain[i]->classes >> c->class & 1) &&
	       (!c->paused || (chain[i]->always >> c->class & 1));
}

void cap_chain_before(struct cap_call *c)
{
	int kept = errno, mode = cap_chain_enter();

	memset(c->room, 0, sizeof(c->room));
	for (int i = 0; i < N_HOOKS; i++)
		if (wants(i, c) && chain[i]->before)
			chain[i]->before(c);
	cap_chain_leave(mode);
	errno = kept;
}

void cap_chain_after(struct cap_call *c)
{
	int kept = errno, mode = cap_chain_enter();

	for (int i = N_HOOKS - 1; i >= 0; i--)
		if (wants(i, c) && chain[i]->after)
			chain[i]->after(c);
	cap_chain_leave(mode);
	errno = kept;
}

void cap_chain_iteration(int64_t number, uint64_t id)
{
	int mode = cap_chain_enter();

	for (int i = 0; i < N_HOOKS; i++)
		if (runs[i] && chain[i]->iteration)
			chain[i]->iteration(number, id);
	cap_chain_leave(mode);
}

void cap_chain_thread_end(void)
{
	cap_self.hooking++;
	for (int i = 0; i < N_HOOKS; i++)
		if (runs[i] && chain[i]->thread_end)
			chain[i]->thread_end();
	cap_self.hooking--;
}

void cap_chain_end(void)
{
	for (int i = 0; i < N_HOOKS; i++)
		if (runs[i] && chain[i]->end)
			chain[i]->end();
	cap_drainer_settle();
	for (int i = 0; i < N_HOOKS; i++)
		if (runs[i] && chain[i]->ended)
			chain[i]->ended();
}
