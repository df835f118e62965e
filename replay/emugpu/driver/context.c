/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/capture.h"
#include "replay/emugpu/driver/handle.h"
#include "replay/emugpu/driver/logs.h"
#include "replay/emugpu/driver/observed.h"
#include "replay/emugpu/driver/stream.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0x436f6e74u

int emu_is_context(CUcontext c)
{
	return c && ((struct emu_context *)c)->magic == MAGIC;
}

static struct emu_context *context_new(struct emu_device *d, unsigned flags)
{
	struct emu_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->magic = MAGIC;
	c->device = d;
	c->flags = flags;
	c->id = emu_new_id();
	c->limits[CU_LIMIT_STACK_SIZE] = 1024;
	c->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 7 << 20;
	c->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	c->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
	pthread_mutex_init(&c->lock, NULL);
	if (emu_stream_new(c, CU_STREAM_DEFAULT, 0, &c->null_stream) < 0) {
		free(c);
		return NULL;
	}
	return c;
}

struct emu_context *emu_primary(struct emu_device *d)
{
	if (emu_primary_made(d))
		return d->primary;
	pthread_mutex_lock(&emu.lock);
	if (!d->primary)
		__atomic_store_n(&d->primary, context_new(d, d->primary_flags), __ATOMIC_RELEASE);
	pthread_mutex_unlock(&emu.lock);
	return d->primary;
}

CUresult emu_current(struct emu_thread *self, struct emu_context **ret)
{
	struct emu_context *c;

	if (!emu_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (emu_is_over())
		return CUDA_ERROR_DEINITIALIZED;
	c = self->n_contexts ? self->contexts[self->n_contexts - 1] : NULL;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (c->magic != MAGIC)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret = c;
	return emu_context_error(c);
}

/* ---- primary contexts ---- */

EMU_API CUresult cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice device)
{
	struct emu_device *d = emu_device(device);
	struct emu_context *c;

	if (!emu_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	c = emu_primary(d);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	__atomic_add_fetch(&d->primary_users, 1, __ATOMIC_RELAXED);
	*ret = (CUcontext)c;
	return CUDA_SUCCESS;
}

/* For the emulated runtime, as NVIDIA's gets it without a public call. NULL without memory. */
EMU_API CUcontext gpuemu_primary_context(CUdevice device)
{
	struct emu_device *d = emu_is_ready() ? emu_device(device) : NULL;

	return d ? (CUcontext)emu_primary(d) : NULL;
}

EMU_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	struct emu_device *d = emu_device(device);

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	if (__atomic_load_n(&d->primary_users, __ATOMIC_RELAXED) == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	__atomic_sub_fetch(&d->primary_users, 1, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
	struct emu_device *d = emu_device(device);

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	__atomic_store_n(&d->primary_flags, flags, __ATOMIC_RELAXED);
	if (emu_primary_made(d))
		__atomic_store_n(&d->primary->flags, flags, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	struct emu_device *d = emu_device(device);

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = __atomic_load_n(&d->primary_flags, __ATOMIC_RELAXED);
	*active = emu_primary_made(d) && __atomic_load_n(&d->primary_users, __ATOMIC_RELAXED) > 0;
	return CUDA_SUCCESS;
}

/* Resets the context: waits for its work and clears its error. Memory stays allocated. */
EMU_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_device *d = emu_device(device);

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	if (emu_primary_made(d)) {
		emu_context_wait(self, d->primary);
		__atomic_store_n(&d->primary->error, 0, __ATOMIC_RELEASE);
	}
	return CUDA_SUCCESS;
}

/* ---- contexts created by the program ---- */

static CUresult push_context(struct emu_thread *self, struct emu_context *c)
{
	if (self->n_contexts == EMU_CONTEXT_STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	self->contexts[self->n_contexts++] = c;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice device)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_device *d = emu_device(device);
	struct emu_context *c;
	CUresult r;

	if (!emu_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	c = context_new(d, flags);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = push_context(self, c);
	if (!r)
		*ret = (CUcontext)c;
	return r;
}

EMU_API CUresult cuCtxCreate_v4(CUcontext *ret, CUctxCreateParams *params, unsigned flags,
				CUdevice device)
{
	if (params && (params->numExecAffinityParams || params->cigParams)) {
		emu_refuse_use("libcuda.so.1", "cuCtxCreate_v4 (affinity)");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return cuCtxCreate_v2(ret, flags, device);
}

/* The struct remains allocated to recognise stale handles. */
EMU_API CUresult cuCtxDestroy_v2(CUcontext context)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_context *c = (struct emu_context *)context;

	if (!emu_is_context(context) || c == emu_primary_made(c->device))
		return CUDA_ERROR_INVALID_CONTEXT;
	emu_context_wait(self, c);
	if (self->n_contexts && self->contexts[self->n_contexts - 1] == c)
		self->n_contexts--;
	c->magic = 0;
	pthread_mutex_lock(&emu.lock);
	c->next = emu.destroyed;
	emu.destroyed = c;
	pthread_mutex_unlock(&emu.lock);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	EMU_ENTER(EMU_CALL_FREE);

	if (!emu_is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	return push_context(self, (struct emu_context *)context);
}

EMU_API CUresult cuCtxPopCurrent_v2(CUcontext *ret)
{
	EMU_ENTER(EMU_CALL_FREE);

	if (self->n_contexts == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	self->n_contexts--;
	if (ret)
		*ret = (CUcontext)self->contexts[self->n_contexts];
	return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxSetCurrent(CUcontext context)
{
	EMU_ENTER(EMU_CALL_FREE);

	if (!emu_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (context && !emu_is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!context) {
		self->n_contexts -= self->n_contexts > 0;
		return CUDA_SUCCESS;
	}
	if (self->n_contexts == 0)
		return push_context(self, (struct emu_context *)context);
	self->contexts[self->n_contexts - 1] = (struct emu_context *)context;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxGetCurrent(CUcontext *ret)
{
	EMU_ENTER(EMU_CALL_FREE);

	if (!emu_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	*ret = self->n_contexts ? (CUcontext)self->contexts[self->n_contexts - 1] : NULL;
	return CUDA_SUCCESS;
}

CUresult emu_context_of(struct emu_thread *self, CUcontext context, struct emu_context **ret)
{
	if (!context)
		return emu_current(self, ret);
	if (!emu_is_context(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret = (struct emu_context *)context;
	return emu_context_error((*ret));
}

EMU_API CUresult cuCtxSynchronize_v2(CUcontext context)
{
	EMU_ENTER(EMU_CALL_QUERY);
	struct emu_context *c;
	CUresult r = emu_context_of(self, context, &c);

	if (!r)
		r = emu_capture_check(self);
	if (!r)
		emu_observe_wait(EMU_WAIT_CONTEXT, c, 0);
	return r ? r : emu_context_wait(self, c);
}

EMU_API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}
