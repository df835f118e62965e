/* SPDX-License-Identifier: Apache-2.0 */

/* The process's GPUs and its contexts on them. Made once, by cuInit, and never taken down: threads
 * of the program may call until the very end. */
#pragma once

#include "replay/emugpu/driver/clock.h"
#include "replay/emugpu/driver/model.h"
#include "replay/emugpu/driver/op.h"
#include "replay/emugpu/driver/run.h"
#include "replay/engine/capacity.h"
#include <gpuemu.h>

#include <pthread.h>

#define EMU_DEVICES 64

/* This part of the multiprocessors is enough to use all of the memory's bandwidth. */
#define EMU_MEMORY_PART 0.25
#define EMU_FILL_PART 0.1

/* What ops of one device have to share. */
enum emu_engine { EMU_COMPUTE, EMU_COPY_IN, EMU_COPY_OUT, EMU_ENGINES };

struct emu_device {
	int ordinal;  /* as the program sees it: after CUDA_VISIBLE_DEVICES */
	int physical; /* as gpuemu counts */
	struct emu_model model;
	struct emu_memory *memory;

	pthread_mutex_t lock; /* of what follows */
	struct capacity capacities[EMU_ENGINES];
	struct emu_run_gpu *totals;

	struct emu_context *primary;
	unsigned primary_flags;
	int primary_users;
};

struct emu_context {
	uint32_t magic;
	struct emu_device *device;
	unsigned flags;
	int error; /* a CUresult: the context is lost */
	uint64_t id;
	uint64_t peers; /* bit of each device whose memory it may use */
	size_t limits[16];
	pthread_mutex_t lock;	    /* of the list */
	struct emu_stream *streams; /* all of them, the null stream too */
	struct emu_stream *null_stream;
	struct emu_context *next; /* of those destroyed */
};

struct emu_process {
	int ready; /* cuInit has been called */
	int over;  /* exit() has shut the driver down */
	int n_devices;
	struct emu_device devices[EMU_DEVICES];
	pthread_mutex_t lock;
	uint64_t next_id;
	CUresult init_error;
	struct emu_context *destroyed; /* kept, so that their handles are recognised */
};

extern struct emu_process emu;

/* cuInit's work, once a process: reads $GPUEMU_GPUS, $GPUEMU_LIKE, ... */
CUresult emu_init(void);

/* A number that no other stream, context or graph of the process has. */
uint64_t emu_new_id(void);

/* The device with this ordinal, or NULL. */
struct emu_device *emu_device(CUdevice ordinal);

/* The primary context of a device, made at the first use; NULL without memory. */
struct emu_context *emu_primary(struct emu_device *d);
/* The same, or NULL where it was not used yet. */
static inline struct emu_context *emu_primary_made(const struct emu_device *d)
{
	return __atomic_load_n(&d->primary, __ATOMIC_ACQUIRE);
}

/* Whether cuInit() has been called, and whether exit() has shut the driver down. */
static inline int emu_is_ready(void)
{
	return __atomic_load_n(&emu.ready, __ATOMIC_ACQUIRE);
}

static inline int emu_is_over(void)
{
	return __atomic_load_n(&emu.over, __ATOMIC_RELAXED);
}

/* The calling thread's context in *ret, or why there is none to work with. */
CUresult emu_current(struct emu_thread *self, struct emu_context **ret);

/* Whether `c` may be used as a context. */
int emu_is_context(CUcontext c);

struct emu_taken {
	int64_t start_ns, end_ns;
};

/* What takes `duration_ns` with a part of an engine of `d`, 0 to 1, at `ready_ns` or later. */
struct emu_taken emu_device_take(struct emu_device *d, enum emu_engine e, int64_t ready_ns,
				 int64_t duration_ns, double part);

/* What runs whatever else does. */
void emu_device_run(struct emu_device *d, enum emu_engine e, int64_t start_ns, int64_t end_ns);

/* Counts the work of all devices in the row of this process from now on. */
void emu_devices_count_in(struct emu_run_process *p);

/* The public functions beyond CUDA's; those of the clock are in clock.h. */
gpuemu_device_value_fn gpuemu_device_value;
gpuemu_reaches_fn gpuemu_reaches;
