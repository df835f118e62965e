/* SPDX-License-Identifier: Apache-2.0 */

/* Allocation of device, page-locked and managed memory; queries of addresses. */
#include "replay/emugpu/driver/capture.h"
#include "replay/emugpu/driver/graph_memory.h"
#include "replay/emugpu/driver/memory.h"
#include "replay/emugpu/driver/stream.h"

#include <errno.h>
#include <sys/mman.h>

static size_t pages(size_t bytes)
{
	return (bytes + 4095) & ~(size_t)4095;
}

EMU_API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	EMU_ENTER(EMU_CALL_QUERY);
	struct emu_context *c;
	CUresult r = emu_current(self, &c);

	if (!r)
		emu_memory_info(c->device->memory, free_bytes, total_bytes);
	return r;
}

EMU_API CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_context *c;
	uintptr_t at;
	CUresult r = emu_current(self, &c);

	if (!r)
		r = emu_capture_check(self);
	if (r)
		return r;
	if (!ret || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (emu_memory_alloc(c->device->memory, bytes, &at) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = at;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemAllocPitch_v2(CUdeviceptr *ret, size_t *pitch, size_t width, size_t height,
				    unsigned element)
{
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = (width + 511) & ~(size_t)511;
	return cuMemAlloc_v2(ret, *pitch * height);
}

/* Freeing waits for operations that may still use the memory. */
EMU_API CUresult cuMemFree_v2(CUdeviceptr at)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_region found = emu_region_find(at), gone;
	struct emu_context *c;
	size_t bytes;
	int of_graph;
	CUresult r = emu_current(self, &c);

	if (!r)
		r = emu_capture_check(self);
	if (r || !at)
		return r;
	if (found.base != at || (found.kind != EMU_DEVICE && found.kind != EMU_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	emu_context_wait(self, found.device ? emu_primary(found.device) : c);
	emu_context_wait(self, c);
	of_graph = emu_graph_memory_free(at);
	if (of_graph)
		return of_graph < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	if (found.kind == EMU_DEVICE)
		return emu_memory_free(found.device->memory, at, &bytes) < 0
			       ? CUDA_ERROR_INVALID_VALUE
			       : CUDA_SUCCESS;
	if (emu_region_remove(at, EMU_MANAGED, &gone) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	munmap((void *)gone.base, gone.bytes);
	return CUDA_SUCCESS;
}

/* ---- host memory ---- */

static CUresult map_host(struct emu_thread *self, size_t bytes, enum emu_region_kind kind,
			 unsigned flags, uintptr_t *ret)
{
	struct emu_context *c;
	CUresult r = emu_current(self, &c);

	if (r)
		return r;
	if (bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	void *at = mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct emu_region region = {.base = (uintptr_t)at,
				    .bytes = pages(bytes),
				    .kind = kind,
				    .flags = flags,
				    .owner = c};

	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (emu_region_add(&region) < 0) {
		munmap(at, pages(bytes));
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (kind == EMU_PINNED)
		self->now_ns += (int64_t)(1e9 * (double)bytes / c->device->model.pin_bytes_per_s);
	*ret = (uintptr_t)at;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemHostAlloc(void **ret, size_t bytes, unsigned flags)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	uintptr_t at;
	CUresult r = ret ? emu_capture_check(self) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		r = map_host(self, bytes, EMU_PINNED, flags, &at);
	if (!r)
		*ret = (void *)at;
	return r;
}

EMU_API CUresult cuMemFreeHost(void *at)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_region gone;

	if (!at)
		return CUDA_SUCCESS;
	if (emu_region_find((uintptr_t)at).base != (uintptr_t)at)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < emu.n_devices; i++)
		if (emu_primary_made(&emu.devices[i]))
			emu_context_wait(self, emu.devices[i].primary);
	if (emu_region_remove((uintptr_t)at, EMU_PINNED, &gone) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	munmap(at, gone.bytes);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_region region = {
		.base = (uintptr_t)at, .bytes = bytes, .kind = EMU_REGISTERED, .flags = flags};
	struct emu_context *c;
	CUresult r = emu_current(self, &c);

	if (r)
		return r;
	if (!at || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	region.owner = c;
	if (emu_region_add(&region) < 0)
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	self->now_ns += (int64_t)(1e9 * (double)bytes / c->device->model.pin_bytes_per_s);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemHostUnregister(void *at)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_region gone;

	return emu_region_remove((uintptr_t)at, EMU_REGISTERED, &gone) < 0
		       ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
		       : CUDA_SUCCESS;
}

static int is_pinned(const struct emu_region *r)
{
	return r->kind == EMU_PINNED || r->kind == EMU_REGISTERED;
}

EMU_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ret, void *at, unsigned flags)
{
	struct emu_region r = emu_region_find((uintptr_t)at);

	if (!ret || flags || !is_pinned(&r))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUdeviceptr)at;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemHostGetFlags(unsigned *ret, void *at)
{
	struct emu_region r = emu_region_find((uintptr_t)at);

	if (!is_pinned(&r))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = r.flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemAllocManaged(CUdeviceptr *ret, size_t bytes, unsigned flags)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	uintptr_t at;
	CUresult r;

	if (!ret || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	r = map_host(self, bytes, EMU_MANAGED, flags, &at);
	if (!r)
		*ret = at;
	return r;
}

EMU_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
	struct emu_region r = emu_region_find(at);

	if (r.kind == EMU_UNKNOWN)
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = r.base;
	if (bytes)
		*bytes = r.bytes;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr at, size_t bytes, CUmemLocation location,
				       unsigned flags, CUstream stream)
{
	EMU_ENTER(EMU_CALL_COPY);
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	return emu_region_find(at).kind == EMU_MANAGED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
