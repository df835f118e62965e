/* SPDX-License-Identifier: Apache-2.0 */

/* Attributes of devices. */
#include "replay/emugpu/driver/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define A(name) CU_DEVICE_ATTRIBUTE_##name

/* Attributes with the same value on every model. Attributes neither here nor in the tables below
 * are 0. */
static const struct {
	CUdevice_attribute attribute;
	int value;
} fixed[] = {
	{A(MAX_THREADS_PER_BLOCK), 1024},
	{A(MAX_BLOCK_DIM_X), 1024},
	{A(MAX_BLOCK_DIM_Y), 1024},
	{A(MAX_BLOCK_DIM_Z), 64},
	{A(MAX_GRID_DIM_X), 0x7fffffff},
	{A(MAX_GRID_DIM_Y), 65535},
	{A(MAX_GRID_DIM_Z), 65535},
	{A(MAX_SHARED_MEMORY_PER_BLOCK), 49152},
	{A(TOTAL_CONSTANT_MEMORY), 65536},
	{A(WARP_SIZE), 32},
	{A(MAX_PITCH), 0x7fffffff},
	{A(MAX_REGISTERS_PER_BLOCK), 65536},
	{A(TEXTURE_ALIGNMENT), 512},
	{A(TEXTURE_PITCH_ALIGNMENT), 32},
	{A(SURFACE_ALIGNMENT), 512},
	{A(GPU_OVERLAP), 1},
	{A(CAN_MAP_HOST_MEMORY), 1},
	{A(CONCURRENT_KERNELS), 1},
	{A(ECC_ENABLED), 1},
	{A(ASYNC_ENGINE_COUNT), 3},
	{A(UNIFIED_ADDRESSING), 1},
	{A(STREAM_PRIORITIES_SUPPORTED), 1},
	{A(GLOBAL_L1_CACHE_SUPPORTED), 1},
	{A(LOCAL_L1_CACHE_SUPPORTED), 1},
	{A(MANAGED_MEMORY), 1},
	{A(CONCURRENT_MANAGED_ACCESS), 1},
	{A(COMPUTE_PREEMPTION_SUPPORTED), 1},
	{A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), 1},
	{A(COOPERATIVE_LAUNCH), 1},
	{A(HOST_REGISTER_SUPPORTED), 1},
	{A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1},
	{A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED), 1},
	{A(RESERVED_SHARED_MEMORY_PER_BLOCK), 1024},
	{A(READ_ONLY_HOST_REGISTER_SUPPORTED), 1},
	{A(MEMORY_POOLS_SUPPORTED), 1},
	{A(MEMPOOL_SUPPORTED_HANDLE_TYPES), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
	{A(CAN_USE_64_BIT_STREAM_MEM_OPS), 1},
	{A(CAN_USE_STREAM_WAIT_VALUE_NOR), 1},
	{A(IPC_EVENT_SUPPORTED), 1},
	{A(UNIFIED_FUNCTION_POINTERS), 1},
	{A(MAXIMUM_TEXTURE1D_WIDTH), 131072},
	{A(MAXIMUM_TEXTURE2D_WIDTH), 131072},
	{A(MAXIMUM_TEXTURE2D_HEIGHT), 65536},
	{A(MAXIMUM_TEXTURE3D_WIDTH), 16384},
	{A(MAXIMUM_TEXTURE3D_HEIGHT), 16384},
	{A(MAXIMUM_TEXTURE3D_DEPTH), 16384},
	{A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH), 1 << 28},
	{A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH), 32768},
	{A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS), 2048},
	{A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH), 32768},
	{A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT), 32768},
	{A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS), 2048},
	{A(NUMA_ID), -1},
};

static int major_of(const struct cost_gpu *m)
{
	return (int)(m->compute + 0.05);
}

static int minor_of(const struct cost_gpu *m)
{
	return (int)((m->compute - major_of(m)) * 10 + 0.5);
}

/* Returns 1 if the attribute depends on the model. */
static int of_model(const struct emu_device *d, CUdevice_attribute what, int *ret)
{
	const struct cost_gpu *m = &d->model;

	switch (what) {
#define CASE(name, expression)                                                                     \
	case A(name):                                                                              \
		*ret = (int)(expression);                                                          \
		return 1;
		CASE(CLOCK_RATE, m->clock_khz)
		CASE(MULTIPROCESSOR_COUNT, m->sms)
		CASE(PCI_BUS_ID, 1 + d->physical)
		CASE(GPU_PCI_DEVICE_ID, (unsigned)m->pci_device)
		CASE(MEMORY_CLOCK_RATE, m->memory_clock_khz)
		CASE(GLOBAL_MEMORY_BUS_WIDTH, m->memory_bus_bits)
		CASE(L2_CACHE_SIZE, m->l2_bytes)
		CASE(MAX_THREADS_PER_MULTIPROCESSOR, m->threads_per_sm)
		CASE(COMPUTE_CAPABILITY_MAJOR, major_of(m))
		CASE(COMPUTE_CAPABILITY_MINOR, minor_of(m))
		CASE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, m->shared_per_sm)
		CASE(MAX_REGISTERS_PER_MULTIPROCESSOR, m->registers_per_sm)
		CASE(MULTI_GPU_BOARD_GROUP_ID, d->physical)
		CASE(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, m->fp32 / m->fp64 + 0.5)
		CASE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, m->shared_per_block_optin)
		CASE(MAX_BLOCKS_PER_MULTIPROCESSOR, m->blocks_per_sm)
		CASE(MAX_PERSISTING_L2_CACHE_SIZE, m->compute >= 8 ? m->l2_bytes * 0.75 : 0)
		CASE(MAX_ACCESS_POLICY_WINDOW_SIZE, m->compute >= 8 ? 128 << 20 : 0)
		CASE(CLUSTER_LAUNCH, m->compute >= 9)
		CASE(TENSOR_MAP_ACCESS_SUPPORTED, 0)
		CASE(MEM_SYNC_DOMAIN_COUNT, m->compute >= 9 ? 4 : 1)
#undef CASE
	default:
		return 0;
	}
}

EMU_API CUresult cuDeviceGetAttribute(int *ret, CUdevice_attribute what, CUdevice device)
{
	const struct emu_device *d = emu_device(device);

	if (!emu_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!ret || what <= 0 || what >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (of_model(d, what, ret))
		return CUDA_SUCCESS;
	*ret = 0;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (fixed[i].attribute == what)
			*ret = fixed[i].value;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuDeviceGetName(char *ret, int len, CUdevice device)
{
	const struct emu_device *d = emu_device(device);

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!ret || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(ret, (size_t)len, "%s", d->model.name);
	return CUDA_SUCCESS;
}

/* The same value for a GPU in every process. */
EMU_API CUresult cuDeviceGetUuid_v2(CUuuid *ret, CUdevice device)
{
	const struct emu_device *d = emu_device(device);

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(ret->bytes, "gpuemu\0\0\0\0\0\0\0\0\0", sizeof(ret->bytes));
	ret->bytes[15] = (char)d->physical;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuDeviceGetPCIBusId(char *ret, int len, CUdevice device)
{
	const struct emu_device *d = emu_device(device);

	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	if (len < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(ret, (size_t)len, "0000:%02X:00.0", 1 + d->physical);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuDeviceGetByPCIBusId(CUdevice *ret, const char *id)
{
	unsigned domain = 0, bus, slot;

	if (sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3 &&
	    sscanf(id, "%x:%x", &bus, &slot) != 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < emu.n_devices; i++)
		if (emu.devices[i].physical + 1 == (int)bus && slot == 0 && domain == 0) {
			*ret = i;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_DEVICE;
}

EMU_API int gpuemu_device_value(int device, const char *key, double *ret)
{
	const struct emu_device *d = emu_device(device);
	const double *v = d ? cost_gpu_value(&d->model, key) : NULL;

	if (!v)
		return -ENOENT;
	*ret = *v;
	return 0;
}
