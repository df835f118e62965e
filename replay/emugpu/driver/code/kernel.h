/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels: their description in the image, host kernels and durations. */
#pragma once

#include "replay/cost/cost.h"
#include "replay/cost/name.h"
#include "replay/emugpu/driver/code/image.h"
#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/host_kernel.h"
#include "replay/emugpu/driver/name.h"
#include "replay/emugpu/driver/op.h"

#include <gpuemu.h>

/* The work of a function and the types of its parameters, by its name. */
struct emu_function_kind {
	struct cost_name name;
	uint8_t types[EMU_NAME_TYPES]; /* emu_name_types() */
};

/* A CUfunction or a CUkernel; owned by its module. */
struct emu_function {
	uint32_t magic;
	struct emu_module *module;
	const struct emu_entry *entry;
	int dynamic_shared_bytes; /* limit for launches */
	int carveout;
	struct emu_host_kernel host_kernel;
	struct emu_missing *missing; /* NULL: not yet launched without a host kernel */
	int loaded; /* launched, or queried for an attribute that requires loading */
	const struct emu_timing *timing, *timing_end; /* recorded durations */
	int timing_sought;
	const struct emu_function_kind *kind; /* NULL: not looked up yet; never freed */
};

struct emu_module {
	uint32_t magic;
	int is_library;
	struct emu_context *context; /* NULL: a library */
	struct emu_image image;
	struct emu_function *functions;	     /* in the order of the image's entries */
	CUdeviceptr *variables[EMU_DEVICES]; /* in the order of the image's variables; allocated on
						first use */
	pthread_mutex_t lock;		     /* protects `variables` */
	struct emu_module *next;	     /* in the list of unloaded modules */
};

/* Return NULL for an invalid handle. */
struct emu_function *emu_function_of(CUfunction f);
struct emu_module *emu_module_of(const void *handle);

/* Returns the host kernel of a function, or NULL. */
static inline const struct gpuemu_kernel *emu_host_kernel_of(struct emu_function *f)
{
	return emu_host_kernel_find(f->entry->name, &f->host_kernel);
}

/* Returns the duration of a launch on `d`, and the fraction of its multiprocessors that it uses. */
struct cost emu_kernel_cost(const struct emu_device *d, struct emu_function *f,
			    const struct gpuemu_launch *launch, void *const *args, double *share);

/* Sets the bytes, and the operations of a product, of a kernel without other information, from its
 * parameters. Returns the time to access memory of other GPUs and of the host. */
double emu_kernel_estimate(const struct emu_device *d, const struct emu_function *f,
			   const struct emu_function_kind *kind, void *const *args,
			   struct cost_launch *ret);

/* Returns 1 if a launch of the kernel computes something. */
int emu_kernel_computes(const struct emu_op *op);

/* Returns 1 if the op is a kernel whose host kernel has `issue`. Then, unless `ret` is NULL, calls
 * `issue` for a launch of a graph and stores the ticket. */
int emu_kernel_issue(const struct emu_op *op, uint64_t *ret);

/* Returns the number of blocks of this shape that fit on a multiprocessor at once. */
int emu_occupancy(const struct emu_device *d, const struct emu_function *f, int block_threads,
		  size_t shared_bytes);
