/* SPDX-License-Identifier: Apache-2.0 */

/* Access between devices. All GPUs of a machine are connected by NVLink. */
#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/memory.h"

EMU_API CUresult cuDeviceGetP2PAttribute(int *ret, CUdevice_P2PAttribute what, CUdevice from,
					 CUdevice to)
{
	if (!emu_device(from) || !emu_device(to) || from == to)
		return CUDA_ERROR_INVALID_DEVICE;
	switch (what) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
		*ret = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*ret = 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

EMU_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_context *c;
	CUresult r = emu_current(self, &c);

	if (r)
		return r;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!emu_is_context(peer))
		return CUDA_ERROR_INVALID_CONTEXT;
	struct emu_device *d = ((struct emu_context *)peer)->device;
	uint64_t bit = (uint64_t)1 << d->ordinal;

	if (d == c->device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (__atomic_fetch_or(&c->peers, bit, __ATOMIC_RELAXED) & bit)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	if (c != emu_primary_made(c->device))
		__atomic_fetch_or(&c->device->peers, bit, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_context *c;
	CUresult r = emu_current(self, &c);

	if (r)
		return r;
	if (!emu_is_context(peer))
		return CUDA_ERROR_INVALID_CONTEXT;
	uint64_t bit = (uint64_t)1 << ((struct emu_context *)peer)->device->ordinal;

	if (!(__atomic_fetch_and(&c->peers, ~bit, __ATOMIC_RELAXED) & bit))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	if (c != emu_primary_made(c->device))
		__atomic_fetch_and(&c->device->peers, ~bit, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

static int has_peer(const struct emu_device *d, const struct emu_device *peer)
{
	const struct emu_context *c = emu_primary_made(d);
	uint64_t peers = __atomic_load_n(&d->peers, __ATOMIC_RELAXED);

	if (c)
		peers |= __atomic_load_n(&c->peers, __ATOMIC_RELAXED);
	return (int)(peers >> peer->ordinal & 1);
}

int emu_peers(const struct emu_device *d, const struct emu_device *peer)
{
	return has_peer(d, peer) || has_peer(peer, d);
}

EMU_API int gpuemu_reaches(int device, uint64_t address, uint64_t bytes)
{
	const struct emu_device *d = emu_device(device);
	struct emu_region r = emu_region_find((uintptr_t)address);

	if (!d || bytes > r.base + r.bytes - address)
		return 0;
	switch (r.kind) {
	case EMU_DEVICE:
		return r.device == d || has_peer(d, r.device);
	case EMU_REGISTERED:
		return !(r.flags & CU_MEMHOSTREGISTER_IOMEMORY);
	case EMU_MAPPED:
		return (int)(r.reach >> device & 1);
	default:
		return r.kind == EMU_PINNED || r.kind == EMU_MANAGED;
	}
}
