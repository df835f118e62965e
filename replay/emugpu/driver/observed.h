/* SPDX-License-Identifier: Apache-2.0 */

/* Reports to the observer (replay/emugpu/observe.h), if there is one. Any thread. */
#pragma once

#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/op.h"
#include "replay/emugpu/observe.h"

/* Reports that a kernel, copy or fill ran. */
void emu_op_report(const struct emu_observer *to, const struct emu_op *op,
		   const struct emu_track *track, int64_t start_ns, int64_t end_ns);

static inline void emu_op_ran(const struct emu_op *op, const struct emu_track *track,
			      int64_t start_ns, int64_t end_ns)
{
	const struct emu_observer *o = emu_observer();

	if (o)
		emu_op_report(o, op, track, start_ns, end_ns);
}

/* Reports that the current call synchronises; stream 0: not with a stream. */
static inline void emu_observe_wait(enum emu_observed_wait wait, const struct emu_context *c,
				    uint64_t stream)
{
	const struct emu_observer *o = emu_observer();

	if (o)
		o->waits(wait, (uint32_t)c->id, (uint32_t)stream);
}

/* Returns the current call's number; 0 without an observer. */
static inline uint32_t emu_observed_call(void)
{
	const struct emu_observer *o = emu_observer();

	return o ? o->correlation() : 0;
}
