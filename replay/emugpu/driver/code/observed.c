/* SPDX-License-Identifier: Apache-2.0 */

/* Reports operations to an observer (observe.h). */
#include "replay/emugpu/driver/observed.h"
#include "replay/emugpu/driver/code/kernel.h"

static void describe_kernel(const struct emu_kernel_op *k, struct emu_observed_op *ret)
{
	const struct emu_entry *e = k->function->entry;

	ret->kind = EMU_OBSERVED_KERNEL;
	ret->name = e->name;
	for (int i = 0; i < 3; i++) {
		ret->grid[i] = k->grid[i];
		ret->block[i] = k->block[i];
	}
	ret->registers = (uint32_t)e->registers;
	ret->static_bytes = (uint32_t)e->shared_bytes;
	ret->dynamic_bytes = k->shared_bytes;
	ret->local_bytes = (uint32_t)e->local_bytes;
}

void emu_op_report(const struct emu_observer *to, const struct emu_op *op,
		   const struct emu_track *track, int64_t start_ns, int64_t end_ns)
{
	struct emu_observed_op o = {
		.device = track->device->ordinal,
		.stream = (uint32_t)track->stream,
		.context = (uint32_t)track->context->id,
		.correlation = op->correlation,
		.start_ns = start_ns,
		.end_ns = end_ns,
	};

	if (op->type == &emu_kernel_type) {
		describe_kernel(&op->kernel, &o);
	} else if (op->type == &emu_copy_type) {
		o.kind = EMU_OBSERVED_COPY;
		o.bytes = op->copy.width_bytes * op->copy.height * op->copy.depth;
		o.copy_kind = op->copy.kind;
		o.pageable = op->copy.pageable;
	} else {
		o.kind = EMU_OBSERVED_FILL;
		o.bytes = op->set.width * op->set.item_bytes * op->set.height;
		o.value = op->set.value;
	}
	to->ran(&o);
}
