/* SPDX-License-Identifier: Apache-2.0 */

/* Memory pools: stream-ordered allocation. Freed memory returns to the emulated device at once, so
 * a pool only counts bytes. The memory of a pool of another process is shared by IPC handles. */
#include "base/array.h"
#include "base/scope.h"
#include "replay/emugpu/driver/capture.h"
#include "replay/emugpu/driver/graph_memory.h"
#include "replay/emugpu/driver/handle.h"
#include "replay/emugpu/driver/memory.h"
#include "replay/emugpu/driver/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct emu_pool {
	uint32_t magic;
	struct emu_pool *next; /* in the list of destroyed pools */
	struct emu_device *device;
	cuuint64_t used, used_high, threshold;
	int reuse[3]; /* attributes without effect, stored as set */
	/* Of a pool that can be exported, or was imported; the same in all processes. */
	struct pool_id {
		uint32_t pid, number; /* number 0: neither */
	} id;
};

#define MAGIC 0x506f6f6cu

/* Memory that was allocated from a destroyed pool still refers to it, so it is kept. Atomic. */
static struct emu_pool *destroyed;

static struct {
	struct emu_pool pools[EMU_DEVICES];
	struct emu_pool *current[EMU_DEVICES]; /* NULL: the device's own */
} defaults;

/* The current pool of a device. */
static struct emu_pool *default_of(struct emu_device *d)
{
	struct emu_pool *p = &defaults.pools[d->ordinal];

	p->device = d;
	p->magic = MAGIC;
	return p;
}

static struct emu_pool *current_pool(struct emu_device *d)
{
	struct emu_pool *p = __atomic_load_n(&defaults.current[d->ordinal], __ATOMIC_ACQUIRE);

	return p ? p : default_of(d);
}

static struct emu_pool *pool_of(CUmemoryPool handle)
{
	struct emu_pool *p = (struct emu_pool *)handle;

	return p && emu_is_alive(p->magic, MAGIC, "memory pool") ? p : NULL;
}

static void count_use(struct emu_pool *p, int64_t bytes)
{
	cuuint64_t now = __atomic_add_fetch(&p->used, (cuuint64_t)bytes, __ATOMIC_RELAXED);

	if (now > p->used_high)
		p->used_high = now;
}

static int64_t run_free(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	struct emu_pool *p = op->memory.pool;
	size_t bytes = 0;

	if (emu_region_find(op->memory.at).kind == EMU_MAPPED)
		emu_ipc_close(op->memory.at);
	else if (p && emu_memory_free(p->device->memory, op->memory.at, &bytes) == 0)
		count_use(p, -(int64_t)bytes);
	return ready_ns;
}

static const struct emu_op_type free_type = {
	.name = "free",
	.node = CU_GRAPH_NODE_TYPE_MEM_FREE,
	.light = 1,
	.run = run_free,
};

/* ---- memory of pools that can be exported ---- */

static struct {
	pthread_mutex_t lock;
	uint32_t last_number;
	struct pool_memory {
		CUdeviceptr at;
		uint64_t region; /* id of the allocation: the address may be allocated again */
		struct pool_id id;
	} * items; /* also some that were freed */
	size_t n, cap;
} exported = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int is_live(const struct pool_memory *m)
{
	return emu_region_find(m->at).id == m->region;
}

/* With the lock held. */
static void drop_freed(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < exported.n; i++)
		if (is_live(&exported.items[i]))
			exported.items[kept++] = exported.items[i];
	exported.n = kept;
}

static CUresult note_exported(const struct emu_pool *p, CUdeviceptr at)
{
	int r;

	if (p->id.number == 0)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&exported.lock);
	if (exported.n == exported.cap)
		drop_freed();
	r = array_reserve(&exported.items, exported.n + 1, &exported.cap);
	if (r == 0)
		exported.items[exported.n++] =
			(struct pool_memory){at, emu_region_find(at).id, p->id};
	pthread_mutex_unlock(&exported.lock);
	return r < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult alloc_from_pool(struct emu_thread *self, struct emu_stream *s, struct emu_pool *p,
				size_t bytes, CUdeviceptr *ret)
{
	struct emu_op op;
	uintptr_t at;
	CUresult r;

	if (!ret || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->capture) {
		r = emu_graph_memory_alloc_op(p->device, bytes, &op, ret);
		return r ? r : emu_capture_add(s, &op);
	}
	if (emu_memory_alloc(p->device->memory, bytes, &at) < 0) {
		/* Pending frees may release memory. */
		if (emu_context_wait(self, s->context) ||
		    emu_memory_alloc(p->device->memory, bytes, &at) < 0)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	count_use(p, (int64_t)((bytes + 511) & ~(size_t)511));
	*ret = at;
	return note_exported(p, at);
}

EMU_API CUresult cuMemAllocAsync(CUdeviceptr *ret, size_t bytes, CUstream stream)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	return r ? r : alloc_from_pool(self, s, current_pool(s->context->device), bytes, ret);
}

EMU_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ret, size_t bytes, CUmemoryPool pool,
					 CUstream stream)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_pool *p = pool_of(pool);
	struct emu_stream *s;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r)
		return r;
	if (!p || (p->id.number && p->id.pid != (uint32_t)getpid())) /* of another process */
		return CUDA_ERROR_INVALID_VALUE;
	return alloc_from_pool(self, s, p, bytes, ret);
}

EMU_API CUresult cuMemFreeAsync(CUdeviceptr at, CUstream stream)
{
	EMU_ENTER(EMU_CALL_EVENT);
	struct emu_region found = emu_region_find(at);
	struct emu_op op = {.type = &free_type, .memory = {.at = at}};
	struct emu_stream *s;
	struct emu_op of_graph;
	CUresult r = emu_stream_of(self, stream, &s);

	if (r || !at)
		return r;
	r = emu_graph_memory_free_op(at, &of_graph);
	if (s->capture)
		return r ? r : emu_capture_add(s, &of_graph);
	if (r == CUDA_SUCCESS) {
		/* The op's reference keeps the address until earlier operations are complete. */
		if (emu_graph_memory_free(at) > 0)
			return emu_submit(self, s, &of_graph);
		emu_op_done(&of_graph);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if ((found.kind != EMU_DEVICE && (found.kind != EMU_MAPPED || found.owner)) ||
	    found.base != at)
		return CUDA_ERROR_INVALID_VALUE;
	op.memory.pool = default_of(found.device);
	return emu_submit(self, s, &op);
}

/* ---- pools ---- */

EMU_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *ret, CUdevice device)
{
	struct emu_device *d = emu_device(device);

	if (!d || !ret)
		return d ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
	*ret = (CUmemoryPool)default_of(d);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuDeviceGetMemPool(CUmemoryPool *ret, CUdevice device)
{
	struct emu_device *d = emu_device(device);

	if (!d || !ret)
		return d ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
	*ret = (CUmemoryPool)current_pool(d);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	struct emu_device *d = emu_device(device);
	struct emu_pool *p = pool_of(pool);

	if (!d || !p)
		return d ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
	__atomic_store_n(&defaults.current[device], p, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemPoolCreate(CUmemoryPool *ret, const CUmemPoolProps *props)
{
	struct emu_device *d;
	struct emu_pool *p;

	if (!ret || !props || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	d = emu_device(props->location.id);
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	p = calloc(1, sizeof(*p));
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->magic = MAGIC;
	p->device = d;
	if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
		p->id = (struct pool_id){
			(uint32_t)getpid(),
			__atomic_add_fetch(&exported.last_number, 1, __ATOMIC_RELAXED)};
	*ret = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

/* Memory allocated from the pool stays allocated; freeing it returns it to the device. */
EMU_API CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct emu_pool *p = pool_of(pool);

	if (!p || p == default_of(p->device))
		return CUDA_ERROR_INVALID_VALUE;
	if (defaults.current[p->device->ordinal] == p)
		defaults.current[p->device->ordinal] = NULL;
	p->magic = 0;
	p->next = __atomic_load_n(&destroyed, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&destroyed, &p->next, p, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
	return pool_of(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Returns the storage of an attribute; NULL for an unknown one. */
static void *pool_attribute(struct emu_pool *p, CUmemPool_attribute what, size_t *bytes)
{
	*bytes = sizeof(cuuint64_t);
	switch (what) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*bytes = sizeof(int);
		return &p->reuse[what - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return &p->threshold;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return &p->used;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return &p->used_high;
	default:
		return NULL;
	}
}

EMU_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
	struct emu_pool *p = pool_of(pool);
	size_t bytes;
	void *at = p && value ? pool_attribute(p, what, &bytes) : NULL;

	if (!at || at == &p->used)
		return CUDA_ERROR_INVALID_VALUE;
	if (at == &p->used_high)
		p->used_high = p->used;
	else
		memcpy(at, value, bytes);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
	struct emu_pool *p = pool_of(pool);
	size_t bytes;
	const void *at = p && value ? pool_attribute(p, what, &bytes) : NULL;

	if (!at)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(value, at, bytes);
	return CUDA_SUCCESS;
}

/* All devices can access the memory of all others. */
EMU_API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *list, size_t n)
{
	return pool_of(pool) && (list || !n) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuMemPoolGetAccess(CUmemAccess_flags *ret, CUmemoryPool pool, CUmemLocation *where)
{
	if (!pool_of(pool) || !ret || !where)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

/* ---- pools of other processes ---- */

#define POOL_NAME "gpuemu-pool-%u-%u-%d" /* process, number, device: the name of the descriptor */

EMU_API CUresult cuMemPoolExportToShareableHandle(void *ret, CUmemoryPool pool,
						  CUmemAllocationHandleType type,
						  unsigned long long flags)
{
	const struct emu_pool *p = pool_of(pool);
	char name[64];
	int fd;

	if (!p || !ret || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    p->id.pid != (uint32_t)getpid())
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, sizeof(name), POOL_NAME, p->id.pid, p->id.number, p->device->physical);
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(ret, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *ret, void *handle,
						    CUmemAllocationHandleType type,
						    unsigned long long flags)
{
	scoped(free_ptr) struct emu_pool *p = calloc(1, sizeof(*p));
	char path[64], name[128] = "";
	int physical;

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)(intptr_t)handle);
	if (!ret || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    readlink(path, name, sizeof(name) - 1) < 0 ||
	    sscanf(name, "/memfd:" POOL_NAME, &p->id.pid, &p->id.number, &physical) != 3)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < emu.n_devices; i++)
		if (emu.devices[i].physical == physical)
			p->device = &emu.devices[i];
	if (!p->device)
		return CUDA_ERROR_INVALID_DEVICE;
	p->magic = MAGIC;
	*ret = (CUmemoryPool)p;
	p = NULL;
	return CUDA_SUCCESS;
}

/* The data are the IPC handle of the memory, and the pool. */
EMU_API CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *ret, CUdeviceptr at)
{
	struct pool_id id = {0};
	CUipcMemHandle handle;
	CUresult r;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&exported.lock);
	for (size_t i = 0; i < exported.n; i++)
		if (exported.items[i].at == at && is_live(&exported.items[i]))
			id = exported.items[i].id;
	pthread_mutex_unlock(&exported.lock);
	r = id.number ? cuIpcGetMemHandle(&handle, at) : CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &handle, EMU_IPC_BYTES);
	memcpy((char *)ret + EMU_IPC_BYTES, &id, sizeof(id));
	return CUDA_SUCCESS;
}

EMU_API CUresult cuMemPoolImportPointer(CUdeviceptr *ret, CUmemoryPool pool,
					CUmemPoolPtrExportData *data)
{
	const struct emu_pool *p = pool_of(pool);
	CUipcMemHandle handle = {0};

	if (!p || !ret || !data || p->id.number == 0 ||
	    memcmp((char *)data + EMU_IPC_BYTES, &p->id, sizeof(p->id)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&handle, data, EMU_IPC_BYTES);
	return cuIpcOpenMemHandle_v2(ret, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}
