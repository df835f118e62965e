/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/memory.h"

#include <string.h>

/* Returns the device of an address, for attributes; for host memory, the device of the context that
 * allocated it. */
static struct emu_context *context_of(const struct emu_region *r)
{
	if (r->device)
		return emu_primary(r->device);
	return r->kind == EMU_REGISTERED || r->kind == EMU_PINNED || r->kind == EMU_MANAGED
		       ? (r->owner ? r->owner : emu_primary(&emu.devices[0]))
		       : NULL;
}

#define PUT(type, value)                                                                           \
	do {                                                                                       \
		type v_ = (type)(value);                                                           \
		memcpy(ret, &v_, sizeof(v_));                                                      \
	} while (0)

static CUresult pointer_attribute(void *ret, CUpointer_attribute what, CUdeviceptr at,
				  const struct emu_region *r)
{
	int on_device = r->kind == EMU_DEVICE || r->kind == EMU_MAPPED || r->kind == EMU_MANAGED;
	struct emu_context *c = context_of(r);

	switch (what) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		PUT(CUcontext, c);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		PUT(unsigned, on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		PUT(CUdeviceptr, at);
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (r->kind == EMU_DEVICE || r->kind == EMU_MAPPED)
			return CUDA_ERROR_INVALID_VALUE;
		PUT(void *, at);
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		PUT(char, 0);
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		PUT(unsigned long long, r->id);
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		PUT(char, r->kind == EMU_MANAGED);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		PUT(int, c ? c->device->ordinal : -2);
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		PUT(char, r->kind == EMU_DEVICE);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		PUT(CUdeviceptr, r->base);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		PUT(size_t, r->bytes);
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		PUT(char, 1);
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		PUT(unsigned long long, 0);
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		PUT(unsigned, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		PUT(CUmemoryPool, NULL);
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

EMU_API CUresult cuPointerGetAttribute(void *ret, CUpointer_attribute what, CUdeviceptr at)
{
	struct emu_region r = emu_region_find(at);

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (r.kind == EMU_UNKNOWN)
		return CUDA_ERROR_INVALID_VALUE;
	return pointer_attribute(ret, what, at, &r);
}

/* For memory not allocated by CUDA, all attributes are zero. */
static void unknown_attribute(void *ret, CUpointer_attribute what)
{
	switch (what) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		PUT(unsigned, 0);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		PUT(int, -2);
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		PUT(char, 0);
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		PUT(unsigned, 0);
		break;
	default:
		PUT(void *, NULL);
		break;
	}
}

EMU_API CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *what, void **ret,
					CUdeviceptr at)
{
	struct emu_region r = emu_region_find(at);

	if (!n || !what || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		if (r.kind == EMU_UNKNOWN || pointer_attribute(ret[i], what[i], at, &r))
			unknown_attribute(ret[i], what[i]);
	return CUDA_SUCCESS;
}
