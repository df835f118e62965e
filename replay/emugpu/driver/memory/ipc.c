/* SPDX-License-Identifier: Apache-2.0 */

/* Memory and events of another process. A handle says in which process and in which of its files
 * the thing lies; while that process lives, /proc gives the file. Nothing is named, so nothing is
 * left behind. */
#include "replay/emugpu/driver/memory/ipc.h"
#include "base/scope.h"
#include "replay/emugpu/driver/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MAGIC 0x49706368u

struct handle {
	uint32_t magic;
	int32_t pid, fd, physical;
	uint64_t offset, bytes;
};

_Static_assert(sizeof(struct handle) <= sizeof(CUipcMemHandle), "a handle has 64 bytes");

static int open_other(const struct handle *h)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", h->pid, h->fd);
	return open(path, O_RDWR | O_CLOEXEC);
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

EMU_API CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
	EMU_ENTER(EMU_CALL_MALLOC);
	struct emu_region r = emu_region_find(at);

	if (r.kind != EMU_MAPPED || r.owner || r.base != at)
		return CUDA_ERROR_INVALID_VALUE;
	if (emu_region_remove(at, EMU_MAPPED, &r) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	munmap((void *)(r.base & ~(uintptr_t)4095), r.bytes + r.base % 4096);
	return CUDA_SUCCESS;
}

/* ---- events ---- */

/* In a file that both processes map. */
struct emu_shared_event {
	int fd;		       /* the owner's */
	uint32_t issued, done; /* how many records there were, and how many have happened */
	int64_t end_ns;	       /* of the last that has */
};

static int happened(const struct emu_shared_event *e, uint32_t number)
{
	return (int32_t)(__atomic_load_n(&e->done, __ATOMIC_ACQUIRE) - number) >= 0;
}

int emu_shared_new(struct emu_shared_event **ret)
{
	scoped(close_fd) int fd = memfd_create("gpuemu-event", MFD_CLOEXEC);
	struct emu_shared_event *e;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return -errno;
	e = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (e == MAP_FAILED)
		return -errno;
	e->fd = take_fd(fd);
	*ret = e;
	return 0;
}

void emu_shared_free(struct emu_shared_event *e, int owner)
{
	if (owner)
		close(e->fd);
	munmap(e, 4096);
}

static int64_t shared_record_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	struct emu_shared_event *e = op->shared.event;

	e->end_ns = ready_ns;
	__atomic_store_n(&e->done, op->shared.number, __ATOMIC_RELEASE);
	syscall(SYS_futex, &e->done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	return ready_ns;
}

static const struct emu_op_type shared_record_type = {
	.name = "record",
	.node = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
	.light = 1,
	.run = shared_record_run,
};

int64_t emu_shared_wait(struct emu_shared_event *e, uint32_t number)
{
	struct timespec a_second = {.tv_sec = 1};

	while (!happened(e, number)) {
		uint32_t seen = __atomic_load_n(&e->done, __ATOMIC_ACQUIRE);

		if (!happened(e, number))
			syscall(SYS_futex, &e->done, FUTEX_WAIT, seen, &a_second, NULL, 0);
	}
	return e->end_ns;
}

static int64_t shared_wait_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	return moment_wait(ready_ns, emu_shared_wait(op->shared.event, op->shared.number),
			   (int64_t)track->device->model.event_ns);
}

static int shared_wait_blocks(const struct emu_op *op)
{
	return !happened(op->shared.event, op->shared.number);
}

static const struct emu_op_type shared_wait_type = {
	.name = "wait",
	.node = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
	.light = 1,
	.blocks = shared_wait_blocks,
	.run = shared_wait_run,
};

CUresult emu_shared_submit(struct emu_thread *self, struct emu_shared_event *e,
			   struct emu_stream *s, int records)
{
	struct emu_op op = {.type = records ? &shared_record_type : &shared_wait_type,
			    .shared = {.event = e}};

	if (s->capture)
		return emu_capture_spoil(s);
	op.shared.number = records ? __atomic_add_fetch(&e->issued, 1, __ATOMIC_ACQ_REL)
				   : emu_shared_issued(e);
	return emu_submit(self, s, &op);
}

uint32_t emu_shared_issued(const struct emu_shared_event *e)
{
	return __atomic_load_n(&e->issued, __ATOMIC_ACQUIRE);
}

int emu_shared_known(const struct emu_shared_event *e, int64_t *end_ns)
{
	if (!happened(e, emu_shared_issued(e)))
		return 0;
	*end_ns = e->end_ns;
	return 1;
}

EMU_API CUresult cuIpcGetEventHandle(CUipcEventHandle *ret, CUevent event)
{
	struct emu_event *e = (struct emu_event *)event;
	struct handle h = {.magic = MAGIC, .pid = (int32_t)getpid()};

	if (!ret || !emu_is_event(event) || !e->shared)
		return CUDA_ERROR_INVALID_VALUE;
	h.fd = e->shared->fd;
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
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return CUDA_ERROR_MAP_FAILED;
	r = cuEventCreate(ret, CU_EVENT_DISABLE_TIMING);
	if (r) {
		munmap(shared, 4096);
		return r;
	}
	e = (struct emu_event *)*ret;
	e->shared = shared;
	e->shared_opened = 1;
	return CUDA_SUCCESS;
}
