/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels: what is known of them from their image, the code that stands in for them, and how long
 * they take. */
#pragma once

#include "replay/emugpu/driver/code/image.h"
#include "replay/emugpu/driver/device.h"
#include <gpuemu.h>

/* A CUfunction and a CUkernel alike; owned by its module. */
struct emu_function {
	uint32_t magic;
	struct emu_module *module;
	const struct emu_entry *entry;
	int dynamic_shared_bytes; /* the most that a launch may ask for */
	int carveout;
	const struct gpuemu_kernel *twin; /* as of `generation` of the registry */
	unsigned generation;
	struct emu_missing *missing; /* NULL: not launched without a host kernel so far */
	int loaded; /* it was launched, or asked about what is known once it is loaded */
	const struct emu_timing *timing, *timing_end; /* recorded durations */
	int timing_sought;
};

struct emu_module {
	uint32_t magic;
	int is_library;
	struct emu_context *context; /* NULL: a library */
	struct emu_image image;
	struct emu_function *functions;	     /* as the image's entries */
	CUdeviceptr *variables[EMU_DEVICES]; /* as the image's; made when first asked for */
	pthread_mutex_t lock;		     /* of `variables` */
	struct emu_module *next;	     /* of those unloaded */
};

/* NULL when `f` is no function. */
struct emu_function *emu_function_of(CUfunction f);

/* Plug-ins and recorded durations, from $GPUEMU_PLUGINS and $GPUEMU_TIMING. */
void emu_kernels_load(void);

/* The code registered for a function, or NULL. */
const struct gpuemu_kernel *emu_twin(struct emu_function *f);
/* The name as people write it, on the heap; a copy of `symbol` where nothing demangles it. */
char *emu_name_demangle(const char *symbol);
/* The same without return type and parameters: "at::native::reduce_kernel<512, 1, ...>"; NULL
 * without memory. */
char *emu_name_plain(const char *symbol);

/* How long a launch takes on `d`, and how much of its multiprocessors it fills (0 to 1). */
int64_t emu_kernel_ns(const struct emu_device *d, struct emu_function *f,
		      const struct gpuemu_launch *launch, void *const *args, double *share);

/* Whether the op is a kernel that is told of each launch of a graph that it is in; `ret`, which may
 * be NULL: tells it, and gets its turn. */
int emu_kernel_issue(const struct emu_op *op, uint64_t *ret);

/* Blocks of this shape that a multiprocessor holds. */
int emu_occupancy(const struct emu_device *d, const struct emu_function *f, int block_threads,
		  size_t shared_bytes);
