/* SPDX-License-Identifier: Apache-2.0 */

/* Memory and events of another process. A handle contains the process and its file descriptor;
 * while the process lives, /proc/PID/fd opens the file. The files have no names, so no files
 * remain. */
#include "base/scope.h"
#include "replay/emugpu/driver/memory.h"
#include "replay/emugpu/driver/shared_event.h"
#include "replay/emugpu/driver/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAGIC 0x49706368u

struct handle {
	uint32_t magic;
	int32_t pid, fd, physical;
	uint64_t offset, bytes;
};

_Static_assert(sizeof(struct handle) <= EMU_IPC_BYTES, "data of a pool has 64 bytes");

static int open_other(const struct handle *h)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", h->pid, h->fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Returns 1 if the file has the memory of the handle. */
static int is_within(int fd, const struct handle *h)
{
	struct stat st;

	return fstat(fd, &st) == 0 && h->bytes > 0 && h->offset <= (uint64_t)st.st_size &&
	       h->bytes <= (uint64_t)st.st_size - h->offset;
}

EMU_API CUresult cuIpcGetMemHandle(CUipcMemHandle *ret, CUdeviceptr at)
{
	struct emu_region r = emu_region_find(at);
	struct handle h = {.magic = MAGIC, .pid = (int32_t)getpid()};

	if (!ret || r.kind != EMU_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	h.fd = emu_memory_file(r.device->memory, r.base, &h.offset);
	h.physical = r.device->physical;
	h.bytes = r.bytes;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &h, sizeof(h));
	return CUDA_SUCCESS;
}

static struct emu_device *device_of(int physical)
{
	for (int i = 0; i < emu.n_devices; i++)
		if (emu.devices[i].physical == physical)
			return &emu.devices[i];
	return NULL;
}

EMU_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret, CUipcMemHandle handle, unsigned flags)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_region region = {.kind = EMU_MAPPED, .reach = UINT64_MAX};
	struct emu_context *c;
	struct handle h;
	CUresult r = emu_current(self, &c);

	memcpy(&h, &handle, sizeof(h));
	if (r)
		return r;
	if (!ret || h.magic != MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	if (h.pid == (int32_t)getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	scoped(close_fd) int fd = open_other(&h);

	if (fd < 0)
		return CUDA_ERROR_MAP_FAILED;
	if (!is_within(fd, &h))
		return CUDA_ERROR_INVALID_VALUE;
	size_t lead = h.offset % 4096;
	void *p = mmap(NULL, h.bytes + lead, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       (off_t)(h.offset - lead));

	if (p == MAP_FAILED)
		return CUDA_ERROR_MAP_FAILED;
	region.base = (uintptr_t)p + lead;
	region.bytes = h.bytes;
	region.device = device_of(h.physical) ? device_of(h.physical) : c->device;
	if (emu_region_add(&region) < 0) {
		munmap(p, h.bytes + lead);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret = region.base;
	return CUDA_SUCCESS;
}

int emu_ipc_close(uintptr_t at)
{
	struct emu_region r = emu_region_find(at);

	if (r.kind != EMU_MAPPED || r.owner || r.base != at ||
	    emu_region_remove(at, EMU_MAPPED, &r) < 0)
		return -EINVAL;
	munmap((void *)(r.base & ~(uintptr_t)4095), r.bytes + r.base % 4096);
	return 0;
}

EMU_API CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	return emu_ipc_close(at) < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* ---- events ---- */

EMU_API CUresult cuIpcGetEventHandle(CUipcEventHandle *ret, CUevent event)
{
	struct emu_event *e = (struct emu_event *)event;
	struct handle h = {.magic = MAGIC, .pid = (int32_t)getpid()};

	if (!ret || !emu_is_event(event) || !e->shared)
		return CUDA_ERROR_INVALID_VALUE;
	h.fd = emu_shared_file(e->shared);
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &h, sizeof(h));
	return CUDA_SUCCESS;
}

EMU_API CUresult cuIpcOpenEventHandle(CUevent *ret, CUipcEventHandle handle)
{
	struct emu_shared_event *shared;
	struct emu_event *e;
	struct handle h;
	CUresult r;

	memcpy(&h, &handle, sizeof(h));
	if (!ret || h.magic != MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	scoped(close_fd) int fd = open_other(&h);

	if (fd < 0)
		return CUDA_ERROR_MAP_FAILED;
	if (emu_shared_open(fd, &shared) < 0)
		return CUDA_ERROR_MAP_FAILED;
	r = cuEventCreate(ret, CU_EVENT_DISABLE_TIMING);
	if (r) {
		emu_shared_free(shared, 0);
		return r;
	}
	e = (struct emu_event *)*ret;
	e->shared = shared;
	e->shared_opened = 1;
	return CUDA_SUCCESS;
}
