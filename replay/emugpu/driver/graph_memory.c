/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/graph_memory.h"
#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/memory.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct emu_graph_memory {
	struct emu_graph_memory *next; /* in the list of all */
	int refs;		       /* one of each op, and one while the memory is allocated */
	int is_allocated;
	struct emu_device *device;
	uintptr_t at;
	size_t bytes;
};

static struct {
	pthread_mutex_t lock; /* for all of this file */
	struct emu_graph_memory *first;
	/* By device: bytes that launches have allocated; bytes held for graphs, which shrink only
	 * with cuDeviceGraphMemTrim(); the highest of these. */
	struct {
		cuuint64_t allocated, held, highest;
	} counts[EMU_DEVICES];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- with the lock held */

static struct emu_graph_memory *memory_at(uintptr_t at)
{
	struct emu_graph_memory *m = all.first;

	while (m && m->at != at)
		m = m->next;
	return m;
}

static void drop_memory(struct emu_graph_memory *m)
{
	struct emu_graph_memory **link = &all.first;
	size_t bytes;

	if (--m->refs > 0)
		return;
	while (*link != m)
		link = &(*link)->next;
	*link = m->next;
	/* The addresses were not charged. */
	emu_memory_free(m->device->memory, m->at, &bytes);
	emu_memory_charge(m->device->memory, (int64_t)m->bytes);
	free(m);
}

static int allocate_memory(struct emu_graph_memory *m)
{
	cuuint64_t *held = &all.counts[m->device->ordinal].held;
	cuuint64_t *highest = &all.counts[m->device->ordinal].highest;
	cuuint64_t now = all.counts[m->device->ordinal].allocated + m->bytes;

	if (now > *held) {
		if (emu_memory_charge(m->device->memory, (int64_t)(now - *held)) < 0)
			return -ENOMEM;
		*held = now;
		*highest = now > *highest ? now : *highest;
	}
	all.counts[m->device->ordinal].allocated = now;
	m->is_allocated = 1;
	m->refs++;
	return 0;
}

static void release_memory(struct emu_graph_memory *m)
{
	if (!m->is_allocated)
		return;
	m->is_allocated = 0;
	all.counts[m->device->ordinal].allocated -= m->bytes;
	drop_memory(m);
}

/* ---- ops */

static int64_t run_nothing(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	return ready_ns;
}

static void retain_op(struct emu_op *op)
{
	pthread_mutex_lock(&all.lock);
	op->graph_memory->refs++;
	pthread_mutex_unlock(&all.lock);
}

static void release_op(struct emu_op *op)
{
	pthread_mutex_lock(&all.lock);
	drop_memory(op->graph_memory);
	pthread_mutex_unlock(&all.lock);
}

const struct emu_op_type emu_graph_alloc_type = {
	.name = "allocation",
	.node = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
	.light = 1,
	.retain = retain_op,
	.release = release_op,
	.run = run_nothing,
};

const struct emu_op_type emu_graph_free_type = {
	.name = "free",
	.node = CU_GRAPH_NODE_TYPE_MEM_FREE,
	.light = 1,
	.retain = retain_op,
	.release = release_op,
	.run = run_nothing,
};

CUresult emu_graph_memory_alloc_op(struct emu_device *d, size_t bytes, struct emu_op *ret,
				   CUdeviceptr *ret_at)
{
	struct emu_graph_memory *m = bytes ? calloc(1, sizeof(*m)) : NULL;

	bytes = (bytes + 511) & ~(size_t)511;
	if (!m)
		return bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	if (emu_memory_alloc(d->memory, bytes, &m->at) < 0) {
		free(m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	emu_memory_charge(d->memory, -(int64_t)bytes); /* launches allocate the memory */
	m->refs = 1;
	m->device = d;
	m->bytes = bytes;
	pthread_mutex_lock(&all.lock);
	m->next = all.first;
	all.first = m;
	pthread_mutex_unlock(&all.lock);
	*ret = (struct emu_op){.type = &emu_graph_alloc_type, .graph_memory = m};
	*ret_at = m->at;
	return CUDA_SUCCESS;
}

CUresult emu_graph_memory_free_op(CUdeviceptr at, struct emu_op *ret)
{
	struct emu_graph_memory *m;

	pthread_mutex_lock(&all.lock);
	m = memory_at(at);
	if (m)
		m->refs++;
	pthread_mutex_unlock(&all.lock);
	*ret = (struct emu_op){.type = &emu_graph_free_type, .graph_memory = m};
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

int emu_graph_memory_is_allocated(const struct emu_op *op)
{
	int is;

	if (op->type != &emu_graph_alloc_type)
		return 0;
	pthread_mutex_lock(&all.lock);
	is = op->graph_memory->is_allocated;
	pthread_mutex_unlock(&all.lock);
	return is;
}

int emu_graph_memory_submit(const struct emu_op *op)
{
	int r = 0;

	if (op->type != &emu_graph_alloc_type && op->type != &emu_graph_free_type)
		return 0;
	pthread_mutex_lock(&all.lock);
	if (op->type == &emu_graph_alloc_type)
		r = allocate_memory(op->graph_memory);
	else
		release_memory(op->graph_memory);
	pthread_mutex_unlock(&all.lock);
	return r;
}

void emu_graph_memory_free_allocated(const struct emu_op *op)
{
	if (op->type != &emu_graph_alloc_type)
		return;
	pthread_mutex_lock(&all.lock);
	release_memory(op->graph_memory);
	pthread_mutex_unlock(&all.lock);
}

int emu_graph_memory_free(uintptr_t at)
{
	struct emu_graph_memory *m;
	int r = 0;

	pthread_mutex_lock(&all.lock);
	m = memory_at(at);
	if (m)
		r = m->is_allocated ? 1 : -EINVAL;
	if (m)
		release_memory(m);
	pthread_mutex_unlock(&all.lock);
	return r;
}

/* ---- the public functions */

EMU_API CUresult cuDeviceGraphMemTrim(CUdevice device)
{
	struct emu_device *d = emu_device(device);

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&all.lock);
	emu_memory_charge(d->memory, (int64_t)(all.counts[d->ordinal].allocated -
					       all.counts[d->ordinal].held));
	all.counts[d->ordinal].held = all.counts[d->ordinal].allocated;
	pthread_mutex_unlock(&all.lock);
	return CUDA_SUCCESS;
}

static int is_highest(CUgraphMem_attribute what)
{
	return what == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
	       what == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
}

/* Memory stays associated with graphs until it is trimmed, so "used" and "reserved" are equal. */
EMU_API CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute what,
					      void *value)
{
	struct emu_device *d = emu_device(device);

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || (unsigned)what > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&all.lock);
	memcpy(value,
	       is_highest(what) ? &all.counts[d->ordinal].highest : &all.counts[d->ordinal].held,
	       sizeof(cuuint64_t));
	pthread_mutex_unlock(&all.lock);
	return CUDA_SUCCESS;
}

/* The high watermarks can be reset to the present values. */
EMU_API CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute what,
					      void *value)
{
	struct emu_device *d = emu_device(device);
	cuuint64_t to = 1;

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	if (value)
		memcpy(&to, value, sizeof(to));
	if (to != 0 || !is_highest(what))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&all.lock);
	all.counts[d->ordinal].highest = all.counts[d->ordinal].held;
	pthread_mutex_unlock(&all.lock);
	return CUDA_SUCCESS;
}

size_t emu_graph_memory_of(const struct emu_op *op, CUdeviceptr *ret_at, int *ret_device)
{
	*ret_at = op->graph_memory->at;
	*ret_device = op->graph_memory->device->ordinal;
	return op->graph_memory->bytes;
}
