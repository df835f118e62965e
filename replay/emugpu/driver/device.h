/* SPDX-License-Identifier: Apache-2.0 */

/* The process's GPUs and its contexts on them. Created by the first cuInit and never destroyed,
 * since program threads may call until the process exits. */
#pragma once

#include "replay/clock/capacity.h"
#include "replay/cost/gpu.h"
#include "replay/emugpu/driver/clock.h"
#include "replay/emugpu/driver/cuda_api.h"
#include "replay/emugpu/driver/run.h"
#include <gpuemu.h>

#include <pthread.h>

#define EMU_DEVICES 64

/* Resources that the operations of a device share. Fills, and copies within the device, use only
 * the memory. */
enum emu_resource { EMU_COMPUTE, EMU_COPY_IN, EMU_COPY_OUT, EMU_MEMORY, EMU_RESOURCES };

struct emu_device {
	int ordinal;  /* the program's number, after CUDA_VISIBLE_DEVICES */
	int physical; /* gpuemu's number */
	struct cost_gpu model;
	struct emu_memory *memory;

	pthread_mutex_t lock; /* protects the following members */
	struct capacity capacities[EMU_RESOURCES];
	struct emu_run_gpu *totals;

	uint64_t peers; /* as in struct emu_context, of all contexts but the primary one; atomic */
	struct emu_context *primary;
	unsigned primary_flags;
	int primary_users;
};

struct emu_context {
	uint32_t magic;
	struct emu_device *device;
	unsigned flags;
	int error; /* a CUresult; not 0: the context is lost */
	uint64_t id;
	uint64_t peers; /* bit mask of devices with accessible memory */
	size_t limits[16];
	pthread_mutex_t lock;	    /* protects the list */
	struct emu_stream *streams; /* list, with the null stream */
	struct emu_stream *null_stream;
	struct emu_context *next; /* in the list of destroyed contexts */
};

struct emu_process {
	int ready; /* cuInit was called */
	int over;  /* exit() has shut the driver down */
	int n_devices;
	struct emu_device devices[EMU_DEVICES];
	pthread_mutex_t lock;
	CUresult init_error;
	struct emu_context *destroyed; /* kept to recognise stale handles */
};

extern struct emu_process emu;

/* Initialises the process's devices from $GPUEMU_GPUS, $GPUEMU_LIKE, ...; later calls have no
 * effect. */
CUresult emu_init(void);

/* Returns 1 if one of the devices may access the memory of the other. */
int emu_peers(const struct emu_device *d, const struct emu_device *peer);

/* Returns the device with this ordinal, or NULL. */
struct emu_device *emu_device(CUdevice ordinal);

/* Returns the primary context of a device, created on first use; NULL if out of memory. */
struct emu_context *emu_primary(struct emu_device *d);
CUcontext gpuemu_primary_context(CUdevice device);

/* Returns the primary context, or NULL if it was never used. */
static inline struct emu_context *emu_primary_made(const struct emu_device *d)
{
	return __atomic_load_n(&d->primary, __ATOMIC_ACQUIRE);
}

/* Return whether cuInit() has been called, and whether exit() has shut the driver down. */
static inline int emu_is_ready(void)
{
	return __atomic_load_n(&emu.ready, __ATOMIC_ACQUIRE);
}

static inline int emu_is_over(void)
{
	return __atomic_load_n(&emu.over, __ATOMIC_RELAXED);
}

/* Stores the calling thread's context. Returns an error if none is current or if it is lost. */
CUresult emu_current(struct emu_thread *self, struct emu_context **ret);

/* Returns `context`, or the current context if it is NULL. */
CUresult emu_context_of(struct emu_thread *self, CUcontext context, struct emu_context **ret);

/* Returns 1 if `c` is a valid context. */
int emu_is_context(CUcontext c);

struct emu_taken {
	int64_t start_ns, end_ns;
};

/* Schedules an operation at `ready_ns` or later, which takes `duration_ns` on a part (0 to 1) of a
 * resource and, if `memory` is not 0, on that part of the memory bandwidth. Returns its start and
 * end. */
struct emu_taken emu_device_take(struct emu_device *d, enum emu_resource which, int64_t ready_ns,
				 int64_t duration_ns, double part, double memory);

/* Counts an operation that runs at a given time, without using capacity. */
void emu_device_run(struct emu_device *d, enum emu_resource which, int64_t start_ns,
		    int64_t end_ns);

/* Exported (gpuemu.h). */
gpuemu_device_value_fn gpuemu_device_value;
gpuemu_reaches_fn gpuemu_reaches;
