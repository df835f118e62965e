/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/device.h"
#include "base/host.h"
#include "replay/emugpu/driver/host_kernel.h"
#include "replay/emugpu/driver/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emu_process emu = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct emu_device *emu_device(CUdevice ordinal)
{
	return ordinal >= 0 && ordinal < emu.n_devices ? &emu.devices[ordinal] : NULL;
}

static long number_in_environment(const char *name, long missing)
{
	const char *value = getenv(name);
	char *end;
	long n = value ? strtol(value, &end, 10) : missing;

	return value && (*value == 0 || *end) ? missing : n;
}

/* Loads the model of each GPU. $GPUEMU_LIKE is one model, or a comma-separated list, one for each
 * GPU. */
static int load_models(struct cost_gpu *models, int n)
{
	const char *like = getenv("GPUEMU_LIKE");
	char list[4096], why[600], *next = list, *name = NULL;

	snprintf(list, sizeof(list), "%s", like && *like ? like : "H200");
	for (int i = 0; i < n; i++) {
		char *part = strsep(&next, ",");

		name = part ? part : name;
		int r = cost_gpu_load(name, &models[i], why, sizeof(why));

		if (r < 0) {
			fprintf(stderr, "gpuemu: cannot use the GPU model %s: %s\n", name, why);
			return r;
		}
	}
	return 0;
}

/* Applies $CUDA_VISIBLE_DEVICES to `n` GPUs: stores the visible ones in order. Returns their
 * number. */
static int visible_devices(int n, int *physical)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	int count = 0;

	if (!list) {
		for (count = 0; count < n; count++)
			physical[count] = count;
		return count;
	}
	while (*list && count < EMU_DEVICES) {
		char *end;
		long i = strtol(list, &end, 10);

		if (end == list || i < 0 || i >= n)
			break;
		for (int k = 0; k < count; k++)
			if (physical[k] == i)
				return 0;
		physical[count++] = (int)i;
		list = *end == ',' ? end + 1 : end + strlen(end);
	}
	return count;
}

static int init_device(struct emu_device *d, int ordinal, int physical,
		       const struct cost_gpu *model)
{
	d->ordinal = ordinal;
	d->physical = physical;
	d->model = *model;
	pthread_mutex_init(&d->lock, NULL);
	return emu_memory_new((unsigned)d->physical, (size_t)model->memory_bytes, &d->memory);
}

/* Counts the work of all devices in the process's row of the run; a forked process has its own
 * row. */
static void count_in_row(void)
{
	struct emu_run_process *p = emu_clock_process();

	for (int i = 0; i < emu.n_devices; i++) {
		struct emu_device *d = &emu.devices[i];

		d->totals = &p->gpus[d->physical];
		snprintf(d->totals->model, sizeof(d->totals->model), "%s", d->model.name);
	}
}

static void init_clock(const struct cost_gpu *m)
{
	const int64_t costs[EMU_CALLS] = {
		[EMU_CALL_QUERY] = (int64_t)m->call_query_ns,
		[EMU_CALL_EVENT] = (int64_t)m->call_event_ns,
		[EMU_CALL_LAUNCH] = (int64_t)m->call_launch_ns,
		[EMU_CALL_COPY] = (int64_t)m->call_copy_ns,
		[EMU_CALL_MALLOC] = (int64_t)m->call_malloc_ns,
	};

	emu_clock_costs(costs);
}

static CUresult init_devices(void)
{
	static struct cost_gpu models[EMU_DEVICES];
	int physical[EMU_DEVICES];
	long n = number_in_environment("GPUEMU_GPUS", 1);

	if (n < 0 || n > EMU_DEVICES)
		n = EMU_DEVICES;
	if (load_models(models, (int)n) < 0)
		return CUDA_ERROR_NO_DEVICE;
	n = visible_devices((int)n, physical);
	for (int i = 0; i < n; i++)
		if (init_device(&emu.devices[i], i, physical[i], &models[physical[i]]) < 0)
			return CUDA_ERROR_OUT_OF_MEMORY;
	if (n == 0)
		return CUDA_ERROR_NO_DEVICE;
	emu.n_devices = (int)n;
	init_clock(&emu.devices[0].model);
	count_in_row();
	pthread_atfork(NULL, NULL, count_in_row); /* after the clock's, which begins the row */
	emu_clock_process()->driver_ns = host_clock_ns(CLOCK_MONOTONIC);
	emu_host_kernels_load();
	return CUDA_SUCCESS;
}

/* As in real drivers, exit handlers registered after cuInit can still use the driver. */
static void shut_down(void)
{
	__atomic_store_n(&emu.over, 1, __ATOMIC_RELAXED);
}

/* NVIDIA's driver names its threads in this file, and fails if it cannot open it. */
static CUresult check_thread_names(void)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/comm", (long)gettid());
	f = fopen(path, "w");
	if (f)
		fclose(f);
	return f ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult emu_init(void)
{
	if (__atomic_load_n(&emu.ready, __ATOMIC_ACQUIRE))
		return emu.init_error;
	pthread_mutex_lock(&emu.lock);
	if (!emu.ready) {
		emu_vmm_init();
		emu.init_error = check_thread_names() ?: init_devices();
		atexit(shut_down);
		__atomic_store_n(&emu.ready, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&emu.lock);
	return emu.init_error;
}

/* ---- capacities ---- */

/* Adds an op to the totals; with the lock held. Busy time is the time in which any op runs, for ops
 * in call order. */
static void count_op(struct emu_device *d, enum emu_resource which, int64_t start_ns,
		     int64_t end_ns)
{
	struct emu_run_gpu *t = d->totals;
	int64_t from_ns = moment_wait(start_ns, t->last_end_ns, 0);

	*(which == EMU_COPY_IN || which == EMU_COPY_OUT ? &t->copies : &t->kernels) += 1;
	if (end_ns > t->last_end_ns) {
		t->busy_ns += end_ns - from_ns;
		t->last_end_ns = end_ns;
	}
}

struct emu_taken emu_device_take(struct emu_device *d, enum emu_resource which, int64_t ready_ns,
				 int64_t duration_ns, double part, double memory)
{
	struct emu_taken t;

	pthread_mutex_lock(&d->lock);
	t.start_ns = capacity_start(&d->capacities[which], ready_ns);
	t.end_ns = capacity_reserve(&d->capacities[which], t.start_ns, duration_ns,
				    capacity_share(part));
	if (memory > 0)
		t.end_ns = moment_wait(t.end_ns,
				       capacity_reserve(&d->capacities[EMU_MEMORY], t.start_ns,
							duration_ns, capacity_share(memory)),
				       0);
	count_op(d, which, t.start_ns, t.end_ns);
	pthread_mutex_unlock(&d->lock);
	return t;
}

void emu_device_run(struct emu_device *d, enum emu_resource which, int64_t start_ns, int64_t end_ns)
{
	pthread_mutex_lock(&d->lock);
	count_op(d, which, start_ns, end_ns);
	pthread_mutex_unlock(&d->lock);
}
