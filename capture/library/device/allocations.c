/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/allocations.h"

#include "base/array.h"
#include "capture/library/device/contexts.h"
#include "capture/library/device/stream_ref.h"
#include "capture/library/find/cu.h"
#include "capture/library/ring/process.h"
#include "formats/api/api.h"
#include "formats/raw/ring.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define DEVICES 64
#define ANY_DEVICE UINT64_MAX
#define MOST_MULTICASTS 256
#define OTHERS_STREAM ((void *)UINTPTR_MAX)

static struct {
	pthread_mutex_t lock;
	struct cap_regions ranges;
	uint64_t peers[DEVICES]; /* bit of each device whose memory kernels of this device can
				    access */
	/* Handles of multicast objects, mappings of which must not be read. */
	uint64_t multicasts[MOST_MULTICASTS];
	size_t n_multicasts;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t bit_of(int device)
{
	return device >= 0 && device < DEVICES ? UINT64_C(1) << device : 0;
}

int cap_allocation_find(uint64_t address, struct cap_region *ret)
{
	struct cap_region *found;

	pthread_mutex_lock(&live.lock);
	found = cap_regions_find(&live.ranges, address);
	if (found)
		*ret = *found;
	pthread_mutex_unlock(&live.lock);
	return found != NULL;
}

int cap_allocation_is_readable(const struct cap_region *r, int device)
{
	uint64_t peers = 0;

	if (r->reach & bit_of(device))
		return 1;
	/* Mappings and memory of pools have access rights of their own. */
	if (bit_of(device) && r->kind != CAP_MEMORY_MAPPED && !r->stream)
		peers = __atomic_load_n(&live.peers[device], __ATOMIC_RELAXED);
	return (r->reach & peers) != 0;
}

/* Copies up to `n` ranges at addresses from `from` on. Returns their number. */
static size_t copy_ranges(uint64_t from, struct cap_region *ret, size_t n)
{
	struct cap_region *at, *end;
	size_t found = 0;

	pthread_mutex_lock(&live.lock);
	at = cap_regions_find_first(&live.ranges, from, UINT64_MAX);
	end = live.ranges.items + live.ranges.n;
	for (; at && at < end && found < n; at++)
		ret[found++] = *at;
	pthread_mutex_unlock(&live.lock);
	return found;
}

void cap_allocations_for_each(void (*act)(void *data, const struct cap_region *r), void *data)
{
	struct cap_region some[64];
	uint64_t from = 0;
	size_t n;

	do {
		n = copy_ranges(from, some, ARRAY_SIZE(some));
		for (size_t i = 0; i < n; i++)
			act(data, &some[i]);
		if (n > 0)
			from = some[n - 1].base + 1;
	} while (n == ARRAY_SIZE(some));
}

/* ---- calls that change allocations */

static int is_memory(const struct api_arg *a)
{
	return a->meaning == API_MEANING_DEVPTR || a->meaning == API_MEANING_HOST;
}

/* Returns the argument of that name, or NULL. */
static const struct api_arg *arg_named(const struct api_call *call, const char *name)
{
	for (unsigned i = 0; i < call->n_args; i++)
		if (strcmp(call->args[i].name, name) == 0)
			return &call->args[i];
	return NULL;
}

static uint64_t read_result(const struct cap_call *c, const struct api_arg *a)
{
	uint64_t value = 0;

	if (c->words[a->word])
		memcpy(&value, (const void *)c->words[a->word],
		       a->length.kind == API_LENGTH_PRODUCT && a->length.bytes < 8 ? a->length.bytes
										   : 8);
	return value;
}

/* Returns the size of the allocation that a call made at `base`; 0: unknown. */
static uint64_t allocation_bytes(const struct cap_call *c, const struct api_call *call,
				 uint64_t base)
{
	const struct api_arg *bytes = arg_named(call, "bytesize"),
			     *pitch = arg_named(call, "pPitch");
	uint64_t start;
	size_t size;

	if (bytes)
		return c->words[bytes->word];
	if (pitch)
		return read_result(c, pitch) * c->words[arg_named(call, "Height")->word];
	return cap_cu.cuMemGetAddressRange_v2(&start, &size, base) == 0 && start <= base
		       ? start + size - base
		       : 0;
}

/* Returns the devices whose kernels can access a new allocation. Mappings get access rights
 * later. */
static uint64_t reach_of(const struct cap_region *range)
{
	int device = range->device, concurrent = 0;

	switch (range->kind) {
	case CAP_MEMORY_MAPPED:
		return 0;
	case CAP_MEMORY_HOST:
		return ANY_DEVICE;
	case CAP_MEMORY_MANAGED:
		/* Not read by kernels if the host must not use it at the same time. NVIDIA's
		 * runtime loads managed variables before a context is current. */
		cap_cu.cuDeviceGetAttribute(&concurrent, CU_CONCURRENT_MANAGED_ACCESS,
					    device < 0 ? 0 : device);
		return concurrent ? ANY_DEVICE : 0;
	default:
		/* The pool may belong to another device. */
		if (range->stream)
			cap_cu.cuPointerGetAttribute(&device, CU_POINTER_DEVICE_ORDINAL,
						     range->base);
		return bit_of(device);
	}
}

static void add_range(struct cap_region *range)
{
	if (!range->base || !range->bytes)
		return;
	cap_cu.cuCtxGetCurrent(&range->context);
	if (cap_cu.cuCtxGetDevice(&range->device))
		range->device = -1;
	if (!range->reach)
		range->reach = reach_of(range);
	pthread_mutex_lock(&live.lock);
	cap_regions_add(&live.ranges, range);
	pthread_mutex_unlock(&live.lock);
}

/* Finds the stream of an asynchronous allocation. Returns false if the stream is in capture, so
 * that no memory is allocated now. */
static bool allocates_now(const struct cap_call *c, const struct api_call *call, void **ret_stream)
{
	struct cap_stream_ref ref;

	*ret_stream = NULL;
	if (!api_arg_of(call, API_MEANING_STREAM))
		return true;
	cap_stream_ref_from_call(c, call, &ref);
	*ret_stream = ref.thread ? OTHERS_STREAM : ref.stream;
	return !cap_stream_ref_is_capturing(&ref);
}

/* Returns true for registers of other hardware: reading them may have side effects. */
static bool is_io(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *flags = arg_named(call, "Flags");

	return strstr(call->name, "HostRegister") && flags &&
	       c->words[flags->word] & CU_REGISTER_IO_MEMORY;
}

static void note_allocation(const struct cap_call *c, const struct api_call *call)
{
	struct cap_region range = {.id = c->id, .kind = CAP_MEMORY_DEVICE};

	if (is_io(c, call) || !allocates_now(c, call, &range.stream))
		return;
	for (unsigned i = 0; i < call->n_args; i++) {
		const struct api_arg *a = &call->args[i];

		if (!is_memory(a))
			continue;
		if (a->meaning == API_MEANING_HOST)
			range.kind = CAP_MEMORY_HOST;
		else if (strstr(call->name, "Managed"))
			range.kind = CAP_MEMORY_MANAGED;
		range.base =
			a->direction == API_DIRECTION_OUT ? read_result(c, a) : c->words[a->word];
		range.bytes = allocation_bytes(c, call, range.base);
		add_range(&range);
		return;
	}
}

static void note_free(const struct cap_call *c, const struct api_call *call)
{
	for (unsigned i = 0; i < call->n_args; i++) {
		const struct api_arg *a = &call->args[i];

		if (!is_memory(a))
			continue;
		pthread_mutex_lock(&live.lock);
		cap_regions_remove(&live.ranges, c->words[a->word], 1);
		pthread_mutex_unlock(&live.lock);
		return;
	}
}

/* With the lock held: returns the index of the handle, or n_multicasts. */
static size_t find_multicast(uint64_t handle)
{
	size_t i = 0;

	while (i < live.n_multicasts && live.multicasts[i] != handle)
		i++;
	return i;
}

static void add_multicast(uint64_t handle)
{
	pthread_mutex_lock(&live.lock);
	if (find_multicast(handle) == live.n_multicasts && live.n_multicasts < MOST_MULTICASTS)
		live.multicasts[live.n_multicasts++] = handle;
	pthread_mutex_unlock(&live.lock);
}

static bool is_multicast(uint64_t handle)
{
	bool is;

	pthread_mutex_lock(&live.lock);
	is = find_multicast(handle) < live.n_multicasts;
	pthread_mutex_unlock(&live.lock);
	return is;
}

static void remove_multicast(uint64_t handle)
{
	size_t at;

	pthread_mutex_lock(&live.lock);
	at = find_multicast(handle);
	if (at < live.n_multicasts)
		live.multicasts[at] = live.multicasts[--live.n_multicasts];
	pthread_mutex_unlock(&live.lock);
}

/* cuMemMap(ptr, size, offset, handle, ...), cuMemUnmap(ptr, size), cuMemSetAccess(ptr, size, desc,
 * count). */
static void note_mapping(const struct cap_call *c)
{
	struct cap_region range = {
		.id = c->id, .base = c->words[0], .bytes = c->words[1], .kind = CAP_MEMORY_MAPPED};

	if (!is_multicast(c->words[3]))
		add_range(&range);
}

static void note_unmapping(const struct cap_call *c)
{
	pthread_mutex_lock(&live.lock);
	cap_regions_remove(&live.ranges, c->words[0], c->words[1]);
	pthread_mutex_unlock(&live.lock);
}

static void note_access_rights(const struct cap_call *c)
{
	const int(*desc)[3] = (const int(*)[3])c->words[2]; /* kind of location, number, flags */
	uint64_t from = c->words[0], end = from + c->words[1], given = 0, taken = 0;
	struct cap_region *r;

	for (uint64_t i = 0; i < c->words[3]; i++) {
		if (desc[i][0] != CU_LOCATION_DEVICE)
			continue;
		*(desc[i][2] ? &given : &taken) |= bit_of(desc[i][1]);
	}
	pthread_mutex_lock(&live.lock);
	while (from < end && (r = cap_regions_find_first(&live.ranges, from, end - from))) {
		r->reach = (r->reach & ~taken) | given;
		from = r->base + r->bytes;
	}
	pthread_mutex_unlock(&live.lock);
}

/* cuCtxEnablePeerAccess(peerContext, ...): from the device of the current context. */
static void note_peer_access(const struct cap_call *c, bool enabled)
{
	int device, peer = cap_context_device((void *)(uintptr_t)c->words[0]);

	if (cap_cu.cuCtxGetDevice(&device) || !bit_of(device))
		return;
	if (enabled)
		__atomic_fetch_or(&live.peers[device], bit_of(peer), __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&live.peers[device], ~bit_of(peer), __ATOMIC_RELAXED);
}

static void note_state(const struct cap_call *c, const struct api_call *call)
{
	if (strcmp(call->name, "cuMemSetAccess") == 0)
		note_access_rights(c);
	else if (strcmp(call->name, "cuMulticastAddDevice") == 0)
		add_multicast(c->words[0]);
	else if (strstr(call->name, "PeerAccess"))
		note_peer_access(c, strstr(call->name, "Enable") != NULL);
}

/* cuModuleGetGlobal(dptr, bytes, module, name), and those of libraries. */
static void note_global(const struct cap_call *c, const struct api_call *call)
{
	struct cap_region range = {.id = c->id,
				   .kind = strstr(call->name, "Managed") ? CAP_MEMORY_MANAGED
									 : CAP_MEMORY_GLOBAL,
				   .owner = c->words[2],
				   .base = read_result(c, &call->args[0]),
				   .bytes = read_result(c, &call->args[1])};

	add_range(&range);
}

static int has_owner(const struct cap_region *r, const void *owner)
{
	return r->owner && r->owner == *(const uint64_t *)owner;
}

static int has_context(const struct cap_region *r, const void *context)
{
	return (uint64_t)r->context == *(const uint64_t *)context;
}

static int has_device(const struct cap_region *r, const void *device)
{
	return r->device == (int)*(const uint64_t *)device;
}

/* A module is unloaded with its variables, a context destroyed with all memory allocated in it. */
static void note_destroyed(const struct cap_call *c, const struct api_call *call)
{
	int (*gone)(const struct cap_region *, const void *) =
		strstr(call->name, "Unload")		? has_owner
		: strstr(call->name, "CtxDestroy")	? has_context
		: strstr(call->name, "PrimaryCtxReset") ? has_device
							: NULL;

	if (strcmp(call->name, "cuMemRelease") == 0)
		remove_multicast(c->words[0]);
	if (!gone)
		return;
	pthread_mutex_lock(&live.lock);
	cap_regions_remove_if(&live.ranges, gone, &c->words[0]);
	pthread_mutex_unlock(&live.lock);
}

static void after_call(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);

	if (!call || call->library != API_LIBRARY_CUDA || c->result != 0)
		return;
	switch (call->class) {
	case API_CLASS_ALLOC:
		note_allocation(c, call);
		return;
	case API_CLASS_FREE:
		note_free(c, call);
		return;
	case API_CLASS_MAP:
		if (strcmp(call->name, "cuMemMap") == 0)
			note_mapping(c);
		return;
	case API_CLASS_UNMAP:
		note_unmapping(c);
		return;
	case API_CLASS_STATE:
		note_state(c, call);
		return;
	case API_CLASS_CREATE:
		if (strstr(call->name, "GetGlobal") || strstr(call->name, "GetManaged"))
			note_global(c, call);
		else if (strcmp(call->name, "cuMulticastCreate") == 0)
			add_multicast(read_result(c, &call->args[0]));
		return;
	case API_CLASS_DESTROY:
		note_destroyed(c, call);
		return;
	default:
		return;
	}
}

static int start_allocations(void)
{
	if (cap_control()->digest_level == CAP_DIGEST_NONE)
		return -ENOTSUP;
	return cap_cu_load();
}

#define CLASSES                                                                                    \
	(1ull << API_CLASS_ALLOC | 1ull << API_CLASS_FREE | 1ull << API_CLASS_MAP |                \
	 1ull << API_CLASS_UNMAP | 1ull << API_CLASS_STATE | 1ull << API_CLASS_CREATE |            \
	 1ull << API_CLASS_DESTROY)

const struct cap_hook cap_allocations = {
	.classes = CLASSES,
	.always = CLASSES,
	.start = start_allocations,
	.after = after_call,
};
