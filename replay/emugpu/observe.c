/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/observe.h"
#include "replay/emugpu/counts.h"
#include "replay/emugpu/refuse.h"

const struct emu_observer *emu_observer_;

EMU_API void gpuemu_observe(const struct emu_observer *o)
{
	__atomic_store_n(&emu_observer_, o, __ATOMIC_RELEASE);
	if (o)
		__atomic_fetch_or(&emu_counting, EMU_OBSERVED, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&emu_counting, ~EMU_OBSERVED, __ATOMIC_RELAXED);
}

const struct emu_observer *emu_observe_enter(const char *function)
{
	const struct emu_observer *o = emu_observer();

	if (o)
		o->enter(function);
	return o;
}

void emu_observe_leave(const struct emu_observer *o, int result)
{
	if (o)
		o->leave(result);
}
