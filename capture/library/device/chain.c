/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/chain.h"

#include "base/array.h"
#include "capture/library/device/collector.h"
#include "capture/library/device/cu.h"
#include "formats/api/api.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const struct cap_hook *const chain[] = {&cap_allocations, &cap_digests, &cap_times};
static uint32_t running; /* bit of each hook whose start() succeeded; publishes what that set up */

void cap_chain_start(void)
{
	int kept = errno;

	cap_self.hooking++;
	for (unsigned i = 0; i < ARRAY_SIZE(chain); i++) {
		if (running >> i & 1 || chain[i]->start() != 0)
			continue;
		__atomic_fetch_or(&running, 1u << i, __ATOMIC_RELEASE);
		__atomic_fetch_or(&cap_process.hooked, chain[i]->classes, __ATOMIC_RELEASE);
		if (chain[i]->classes >> API_CLASS_LAUNCH & 1)
			__atomic_fetch_or(&cap_process.launch_hooks,
					  chain[i] == &cap_times ? CAP_LAUNCH_TIMED
								 : CAP_LAUNCH_CHAINED,
					  __ATOMIC_RELEASE);
	}
	cap_self.hooking--;
	errno = kept;
}

static bool runs(unsigned i)
{
	return __atomic_load_n(&running, __ATOMIC_ACQUIRE) >> i & 1;
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

static bool wants(const struct cap_hook *hook, const struct cap_call *c)
{
	return (c->paused ? hook->always : hook->classes) >> c->class & 1;
}

void cap_chain_before(struct cap_call *c)
{
	uint32_t started = __atomic_load_n(&running, __ATOMIC_ACQUIRE);
	int kept = errno, mode = cap_chain_enter();

	memset(c->room, 0, sizeof(c->room));
	for (unsigned i = 0; i < ARRAY_SIZE(chain); i++) {
		if (!(started >> i & 1) || !wants(chain[i], c))
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

	for (unsigned i = ARRAY_SIZE(chain); i-- > 0;)
		if ((c->hooks >> i & 1) && chain[i]->after)
			chain[i]->after(c);
	cap_chain_leave(mode);
	errno = kept;
}

void cap_chain_iteration(int64_t number, uint64_t id)
{
	int mode = cap_chain_enter();

	for (unsigned i = 0; i < ARRAY_SIZE(chain); i++)
		if (runs(i) && chain[i]->iteration)
			chain[i]->iteration(number, id);
	cap_chain_leave(mode);
}

void cap_chain_thread_end(void)
{
	cap_self.hooking++;
	for (unsigned i = 0; i < ARRAY_SIZE(chain); i++)
		if (runs(i) && chain[i]->thread_end)
			chain[i]->thread_end();
	cap_self.hooking--;
}

void cap_chain_end(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(chain); i++)
		if (runs(i) && chain[i]->end)
			chain[i]->end();
	cap_collector_settle();
	for (unsigned i = 0; i < ARRAY_SIZE(chain); i++)
		if (runs(i) && chain[i]->ended)
			chain[i]->ended();
}
