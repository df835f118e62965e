/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/code/kernel.h"

#include "replay/emugpu/data.h"
#include "replay/emugpu/driver/missing.h"
#include "replay/emugpu/driver/observed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct gpuemu_kernel *host_kernel_of(const struct emu_op *op)
{
	return emu_host_kernel_of(op->kernel.function);
}

static int kernel_blocks(const struct emu_op *op)
{
	const struct gpuemu_kernel *host = host_kernel_of(op);

	return host && host->flags & GPUEMU_BLOCKS;
}

/* Returns the size of parameter i: from the image, else from the host kernel. 0 at the end. */
static int param_bytes(const struct emu_op *op, int i, size_t *ret)
{
	const struct emu_entry *e = op->kernel.function->entry;
	const struct gpuemu_kernel *host = host_kernel_of(op);

	if (e->n_params >= 0 && i < e->n_params)
		*ret = e->params[i].bytes;
	else if (e->n_params < 0 && host && host->arg_bytes && i < (int)host->n_args)
		*ret = host->arg_bytes[i];
	else
		return 0;
	return 1;
}

static int kernel_own(struct emu_op *op)
{
	struct emu_kernel_op *k = &op->kernel;
	const struct gpuemu_kernel *host = host_kernel_of(op);
	size_t bytes = 0, total = 0;
	int n = 0;

	if (k->args_copy)
		return 1;
	while (param_bytes(op, n, &bytes)) {
		total += (bytes + 15) & ~(size_t)15;
		n++;
	}
	if (n == 0 && k->function->entry->n_params < 0 && host)
		return 0;
	void **args = malloc((size_t)n * sizeof(void *) + 16 + total);

	if (!args)
		return -ENOMEM;
	uint8_t *to = (uint8_t *)(((uintptr_t)(args + n) + 15) & ~(uintptr_t)15);

	for (int i = 0; i < n; i++) {
		param_bytes(op, i, &bytes);
		if (k->args)
			memcpy(to, k->args[i], bytes);
		args[i] = to;
		to += (bytes + 15) & ~(size_t)15;
	}
	k->args_copy = args;
	k->args = args;
	return 1;
}

static void kernel_release(struct emu_op *op)
{
	free(op->kernel.args_copy);
	op->kernel.args_copy = NULL;
}

static size_t arg_bytes(const struct gpuemu_launch *l, unsigned i)
{
	const struct emu_entry *e = ((const struct emu_function *)l->function)->entry;

	return (int)i < e->n_params ? e->params[i].bytes : 0;
}

static struct gpuemu_launch launch_of(const struct emu_kernel_op *k, const struct emu_track *track,
				      int64_t ready_ns)
{
	return (struct gpuemu_launch){
		.name = k->function->entry->name,
		.grid = {k->grid[0], k->grid[1], k->grid[2]},
		.block = {k->block[0], k->block[1], k->block[2]},
		.shared_bytes = k->shared_bytes,
		.device = track->device->ordinal,
		.start_ns = ready_ns,
		.ticket = k->ticket,
		.kernel = emu_host_kernel_of(k->function),
		.arg_bytes = arg_bytes,
		.function = k->function,
	};
}

static int kernel_post(struct emu_op *op, const struct emu_op *before, struct emu_track *track,
		       int64_t ready_ns, int64_t gap_ns)
{
	const struct gpuemu_kernel *host = host_kernel_of(op);
	struct gpuemu_launch l = launch_of(&op->kernel, track, ready_ns);

	if (!host || !(host->flags & GPUEMU_POSTS) || !op->kernel.args_copy ||
	    (before && host_kernel_of(before)->post != host->post))
		return 0;
	return host->post(&l, op->kernel.args, before ? before->kernel.args : NULL, gap_ns);
}

int emu_kernel_computes(const struct emu_op *op)
{
	const struct gpuemu_kernel *host = host_kernel_of(op);

	return host && host->run && (emu_has_data() || host->flags & GPUEMU_SMALL);
}

static int64_t kernel_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	struct emu_kernel_op *k = &op->kernel;
	const struct gpuemu_kernel *host = host_kernel_of(op);
	struct gpuemu_launch l = launch_of(k, track, ready_ns);
	double share;
	struct cost cost = emu_kernel_cost(track->device, k->function, &l, k->args, &share);
	int64_t ns = (int64_t)cost.ns;

	if (host && host->flags & GPUEMU_BLOCKS) {
		host->run(&l, k->args);
		if (l.end_ns == 0)
			l.end_ns = moment_after(ready_ns, ns);
		emu_device_run(track->device, EMU_COMPUTE, ready_ns, l.end_ns);
	} else {
		struct emu_taken taken = emu_device_take(track->device, EMU_COMPUTE, ready_ns, ns,
							 share, cost.memory);

		l.start_ns = taken.start_ns;
		__atomic_add_fetch(&track->device->totals->source_ns[cost.source], ns,
				   __ATOMIC_RELAXED);
		if (emu_kernel_computes(op))
			host->run(&l, k->args);
		if ((!host || !host->run || l.skipped) && emu_has_data())
			emu_missing_launched(op, l.skipped);
		if (l.end_ns == 0)
			l.end_ns = taken.end_ns;
	}
	if (host && host->run && !l.skipped && emu_has_data())
		emu_missing_computed(op);
	if (l.error && !__atomic_load_n(&track->context->error, __ATOMIC_RELAXED))
		__atomic_store_n(&track->context->error, l.error, __ATOMIC_RELEASE);
	emu_op_ran(op, track, l.start_ns, l.end_ns);
	return l.end_ns;
}

int emu_kernel_issue(const struct emu_op *op, uint64_t *ret)
{
	const struct gpuemu_kernel *host = op->type == &emu_kernel_type ? host_kernel_of(op) : NULL;

	if (!host || !(host->flags & GPUEMU_ISSUES))
		return 0;
	if (ret)
		*ret = host->issue(op->kernel.args);
	return 1;
}

const struct emu_op_type emu_kernel_type = {
	.name = "kernel",
	.node = CU_GRAPH_NODE_TYPE_KERNEL,
	.blocks = kernel_blocks,
	.own = kernel_own,
	.release = kernel_release,
	.post = kernel_post,
	.run = kernel_run,
};
