/* SPDX-License-Identifier: Apache-2.0 */

/* Virtual memory management: address ranges and memory are separate. Each allocation is an unnamed
 * file, so that it can be mapped twice and shared with other processes. */
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAGIC 0x416c6c6fu
#define GRANULE ((size_t)2 << 20)

struct allocation {
	uint32_t magic;
	int refs; /* references: handles of the program and mappings */
	int fd;
	size_t bytes;
	struct emu_device *device; /* NULL: the host's */
	int charged; /* allocated by this process, so it counts as used memory of the device */
	CUmemAllocationProp prop;
};

static struct allocation *allocation_of(CUmemGenericAllocationHandle handle)
{
	struct allocation *a = (struct allocation *)(uintptr_t)handle;

	return a && a->magic == MAGIC ? a : NULL;
}

static void drop_memory(struct allocation *a)
{
	if (__atomic_sub_fetch(&a->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	close(a->fd);
	if (a->charged)
		emu_memory_charge(a->device->memory, -(int64_t)a->bytes);
	a->magic = 0;
	free(a);
}

EMU_API CUresult cuMemGetAllocationGranularity(size_t *ret, const CUmemAllocationProp *prop,
					       CUmemAllocationGranularity_flags option)
{
	if (!ret || !prop)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = GRANULE;
	return CUDA_SUCCESS;
}

/* Reserves `bytes` aligned to `align`, at the requested address if that is free. */
static void *reserve_range(size_t bytes, size_t align, void *wanted)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	uintptr_t at, start;
	void *p;

	if (wanted && (uintptr_t)wanted % align == 0) {
		p = mmap(wanted, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (p == wanted)
			return p;
		if (p != MAP_FAILED)
			munmap(p, bytes);
	}
	p = mmap(NULL, bytes + align, PROT_NONE, flags, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	at = (uintptr_t)p;
	start = (at + align - 1) / align * align;
	if (start > at)
		munmap(p, start - at);
	if (start + bytes < at + bytes + align)
		munmap((void *)(start + bytes), at + align - start);
	return (void *)start;
}

/* Driver 580 rounds a hint up to a multiple of this. */
#define HINTED (UINT64_C(32) << 20)

/* Addresses that were in use when the driver was initialised. */
static struct range {
	uintptr_t start, end;
} * used;
static size_t n_used, used_cap;

void emu_vmm_init(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	struct range r;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &r.start, &r.end) == 2 &&
		    array_reserve(&used, n_used + 1, &used_cap) == 0)
			used[n_used++] = r;
	if (maps)
		fclose(maps);
}

/* Returns 1 if the driver ignores a hint for an address. As driver 580, it does so if the
 * addresses, or others within HINTED bytes, were in use when it was initialised, even if they are
 * free now. */
static int ignores_hint(uintptr_t wanted, size_t bytes)
{
	const char *hints = getenv("GPUEMU_ADDRESS_HINTS");

	for (size_t i = 0; i < n_used; i++)
		if (used[i].start < (wanted + bytes + HINTED - 1) / HINTED * HINTED &&
		    wanted < used[i].end)
			return 1;
	return hints && strcmp(hints, "0") == 0;
}

EMU_API CUresult cuMemAddressReserve(CUdeviceptr *ret, size_t bytes, size_t align,
				     CUdeviceptr wanted, unsigned long long flags)
{
	struct emu_region region = {.bytes = bytes, .kind = EMU_RESERVED};
	size_t unit;
	void *p;

	if (!emu_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret || bytes == 0 || bytes % GRANULE || (align & (align - 1)) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	wanted = (wanted + HINTED - 1) / HINTED * HINTED;
	if (ignores_hint(wanted, bytes))
		wanted = 0;
	unit = bytes < HINTED ? GRANULE : HINTED;
	p = reserve_range(bytes, align > unit ? align : unit, (void *)wanted);
	region.base = (uintptr_t)p;
	if (!p || emu_region_add(&region) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = region.base;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
	struct emu_region gone, kept = emu_region_find(at);

	if (kept.kind != EMU_RESERVED || kept.base != at || kept.bytes != bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (emu_region_remove(at, EMU_RESERVED, &gone) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	munmap((void *)gone.base, gone.bytes);
	return CUDA_SUCCESS;
}

static CUresult allocation_new(int fd, size_t bytes, const CUmemAllocationProp *prop,
			       struct emu_device *d, int charged, CUmemGenericAllocationHandle *ret)
{
	struct allocation *a = malloc(sizeof(*a));

	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*a = (struct allocation){MAGIC, 1, fd, bytes, d, charged, *prop};
	*ret = (CUmemGenericAllocationHandle)(uintptr_t)a;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemCreate(CUmemGenericAllocationHandle *ret, size_t bytes,
			     const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct emu_device *d = NULL;
	char name[32];

	if (!emu_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret || !prop || bytes == 0 || bytes % GRANULE || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
		d = emu_device(prop->location.id);
		if (!d)
			return CUDA_ERROR_INVALID_DEVICE;
		if (emu_memory_charge(d->memory, (int64_t)bytes) < 0)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	/* From the name, an importing process gets the device of the memory. */
	snprintf(name, sizeof(name), "gpuemu-%d", d ? d->physical : -1);
	scoped(close_fd) int fd = memfd_create(name, MFD_CLOEXEC);
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		r = allocation_new(fd, bytes, prop, d, d != NULL, ret);
	if (r && d)
		emu_memory_charge(d->memory, -(int64_t)bytes);
	if (!r)
		(void)take_fd(fd);
	return r;
}

EMU_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct allocation *a = allocation_of(handle);

	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	drop_memory(a);
	return CUDA_SUCCESS;
}

/* No access until cuMemSetAccess. */
EMU_API CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset,
			  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct allocation *a = allocation_of(handle);
	struct emu_region around = emu_region_find(at);
	struct emu_region region = {.base = at,
				    .bytes = bytes,
				    .kind = EMU_MAPPED,
				    .device = a ? a->device : NULL,
				    .owner = a,
				    .fd = a ? a->fd : 0,
				    .offset = offset};

	if (!a || bytes == 0 || bytes % GRANULE || at % GRANULE || flags || offset > a->bytes ||
	    bytes > a->bytes - offset)
		return CUDA_ERROR_INVALID_VALUE;
	if (around.kind != EMU_RESERVED || bytes > around.base + around.bytes - at)
		return CUDA_ERROR_INVALID_VALUE;
	if (emu_region_add(&region) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (mmap((void *)at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, a->fd,
		 (off_t)offset) == MAP_FAILED) {
		emu_region_remove(at, EMU_MAPPED, &region);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	__atomic_add_fetch(&a->refs, 1, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemUnmap(CUdeviceptr at, size_t bytes)
{
	CUdeviceptr end = at + bytes;
	struct emu_region gone;

	while (at < end) {
		struct emu_region r = emu_region_find(at);

		if (r.kind != EMU_MAPPED || r.base != at || r.bytes > end - at ||
		    emu_region_remove(at, EMU_MAPPED, &gone) < 0)
			return CUDA_ERROR_INVALID_VALUE;
		mmap((void *)at, gone.bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		at += gone.bytes;
		drop_memory(gone.owner);
	}
	return CUDA_SUCCESS;
}

/* Host access is allowed if any device has access. */
EMU_API CUresult cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *desc, size_t n)
{
	uint64_t given = 0, taken = 0;
	int protection = PROT_NONE;

	if (!desc || n == 0 || emu_region_find(at).kind != EMU_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			protection |= PROT_READ | PROT_WRITE;
		else if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
			protection |= PROT_READ;
		if (desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE)
			*(desc[i].flags ? &given : &taken) |= UINT64_C(1)
							      << (desc[i].location.id % 64);
	}
	emu_region_access(at, bytes, given, taken);
	return mprotect((void *)at, bytes, protection) < 0 ? CUDA_ERROR_INVALID_VALUE
							   : CUDA_SUCCESS;
}

EMU_API CUresult cuMemGetAccess(unsigned long long *ret, const CUmemLocation *location,
				CUdeviceptr at)
{
	if (!ret || !location || emu_region_find(at).kind != EMU_MAPPED)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret,
							CUmemGenericAllocationHandle handle)
{
	struct allocation *a = allocation_of(handle);

	if (!a || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = a->prop;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret, void *at)
{
	struct emu_region r = emu_region_find((uintptr_t)at);

	if (!ret || r.kind != EMU_MAPPED || !r.owner)
		return CUDA_ERROR_INVALID_VALUE;
	__atomic_add_fetch(&((struct allocation *)r.owner)->refs, 1, __ATOMIC_RELAXED);
	*ret = (CUmemGenericAllocationHandle)(uintptr_t)r.owner;
	return CUDA_SUCCESS;
}

/* ---- between processes ---- */

EMU_API CUresult cuMemExportToShareableHandle(void *ret, CUmemGenericAllocationHandle handle,
					      CUmemAllocationHandleType type,
					      unsigned long long flags)
{
	struct allocation *a = allocation_of(handle);
	int fd;

	if (!a || !ret || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
		emu_refuse_use("libcuda.so.1", "cuMemExportToShareableHandle (this kind)");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	fd = fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(ret, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret, void *handle,
						CUmemAllocationHandleType type)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes =
					    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
	struct emu_device *d = NULL;
	char path[64], name[64] = "";
	struct stat st;
	int physical, fd = (int)(intptr_t)handle;

	if (!ret || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fstat(fd, &st) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, name, sizeof(name) - 1) < 0 ||
	    sscanf(name, "/memfd:gpuemu-%d", &physical) != 1)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < emu.n_devices; i++)
		if (emu.devices[i].physical == physical)
			d = &emu.devices[i];
	prop.location.type = d ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
	prop.location.id = d ? d->ordinal : 0;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	return allocation_new(fd, (size_t)st.st_size, &prop, d, 0, ret);
}
