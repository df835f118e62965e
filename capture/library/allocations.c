/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/allocations.h"

#include "capture/library/cu.h"
#include "capture/library/hook.h"
#include "capture/ring.h"
#include "formats/api/api.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	struct cap_regions ranges;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

size_t cap_allocations_list(uint64_t from, struct cap_region *ret, size_t n)
{
	struct cap_region *at, *end;
	size_t found = 0;

	pthread_mutex_lock(&live.lock);
	at = cap_regions_from(&live.ranges, from, UINT64_MAX);
	end = live.ranges.items + live.ranges.n;
	for (; at && at < end && found < n; at++)
		ret[found++] = *at;
	pthread_mutex_unlock(&live.lock);
	return found;
}

/* ---- what calls say */

static int is_memory(const struct api_arg *a)
{
	return a->meaning == API_MEANING_DEVPTR || a->meaning == API_MEANING_HOST;
}

/* The argument of that name, or NULL. */
static const struct api_arg *named(const struct api_call *call, const char *name)
{
	for (unsigned i = 0; i < call->n_args; i++)
		if (strcmp(call->args[i].name, name) == 0)
			return &call->args[i];
	return NULL;
}

static uint64_t pointed(const struct cap_call *c, const struct api_arg *a)
{
	uint64_t value = 0;

	if (c->words[a->word])
		memcpy(&value, (const void *)c->words[a->word],
		       a->length.kind == API_LENGTH_PRODUCT && a->length.bytes < 8 ? a->length.bytes
										   : 8);
	return value;
}

/* How long the memory is that a call made. */
static uint64_t size_of(const struct cap_call *c, const struct api_call *call, uint64_t base)
{
	const struct api_arg *bytes = named(call, "bytesize"), *pitch = named(call, "pPitch");
	uint64_t start;
	size_t size;

	if (bytes)
		return c->words[bytes->word];
	if (pitch)
		return pointed(c, pitch) * c->words[named(call, "Height")->word];
	return cap_cu.cuMemGetAddressRange_v2(&start, &size, base) == 0 && start <= base
		       ? start + size - base
		       : 0;
}

static void add(struct cap_region *range)
{
	if (!range->base || !range->bytes)
		return;
	cap_cu.cuCtxGetCurrent(&range->context);
	if (cap_cu.cuCtxGetDevice(&range->device))
		range->device = -1;
	pthread_mutex_lock(&live.lock);
	cap_regions_add(&live.ranges, range);
	pthread_mutex_unlock(&live.lock);
}

static void allocated(const struct cap_call *c, const struct api_call *call)
{
	struct cap_region range = {.kind = CAP_MEMORY_DEVICE};

	for (unsigned i = 0; i < call->n_args; i++) {
		const struct api_arg *a = &call->args[i];

		if (!is_memory(a))
			continue;
		if (a->meaning == API_MEANING_HOST)
			range.kind = CAP_MEMORY_HOST;
		else if (strstr(call->name, "Managed"))
			range.kind = CAP_MEMORY_MANAGED;
		range.base = a->direction == API_DIRECTION_OUT ? pointed(c, a) : c->words[a->word];
		range.bytes = size_of(c, call, range.base);
		add(&range);
		return;
	}
}

static void freed(const struct cap_call *c, const struct api_call *call)
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

/* cuMemMap(ptr, size, ...), cuMemUnmap(ptr, size), cuMemSetAccess(ptr, size, ...). */
static void mapped(const struct cap_call *c)
{
	struct cap_region range = {.base = c->words[0],
				   .bytes = c->words[1],
				   .kind = CAP_MEMORY_MAPPED,
				   .unreachable = 1};

	add(&range);
}

static void unmapped(const struct cap_call *c)
{
	pthread_mutex_lock(&live.lock);
	cap_regions_remove(&live.ranges, c->words[0], c->words[1]);
	pthread_mutex_unlock(&live.lock);
}

static void accessible(const struct cap_call *c)
{
	uint64_t from = c->words[0], end = from + c->words[1];
	struct cap_region *r;

	pthread_mutex_lock(&live.lock);
	while (from < end && (r = cap_regions_from(&live.ranges, from, end - from))) {
		r->unreachable = 0;
		from = r->base + r->bytes;
	}
	pthread_mutex_unlock(&live.lock);
}

/* cuModuleGetGlobal(dptr, bytes, module, name), and those of libraries. */
static void global(const struct cap_call *c, const struct api_call *call)
{
	struct cap_region range = {.kind = strstr(call->name, "Managed") ? CAP_MEMORY_MANAGED
									 : CAP_MEMORY_GLOBAL,
				   .owner = c->words[2],
				   .base = pointed(c, &call->args[0])};

	range.bytes = c->words[1] ? pointed(c, &call->args[1]) : size_of(c, call, range.base);
	add(&range);
}

static int of_owner(const struct cap_region *r, const void *owner)
{
	return r->owner && r->owner == *(const uint64_t *)owner;
}

static int of_context(const struct cap_region *r, const void *context)
{
	return (uint64_t)r->context == *(const uint64_t *)context;
}

static int of_device(const struct cap_region *r, const void *device)
{
	return r->device == (int)*(const uint64_t *)device;
}

/* Modules take their variables with them, contexts all that was made in them. */
static void destroyed(const struct cap_call *c, const struct api_call *call)
{
	int (*gone)(const struct cap_region *, const void *) =
		strstr(call->name, "Unload")		? of_owner
		: strstr(call->name, "CtxDestroy")	? of_context
		: strstr(call->name, "PrimaryCtxReset") ? of_device
							: NULL;

	if (!gone)
		return;
	pthread_mutex_lock(&live.lock);
	cap_regions_sweep(&live.ranges, gone, &c->words[0]);
	pthread_mutex_unlock(&live.lock);
}

static void after(struct cap_call *c)
{
	const struct api_call *call = api_call(c->api);

	if (!call || call->library != API_LIBRARY_CUDA || c->result != 0)
		return;
	switch (call->class) {
	case API_CLASS_ALLOC:
		allocated(c, call);
		return;
	case API_CLASS_FREE:
		freed(c, call);
		return;
	case API_CLASS_MAP:
		if (strcmp(call->name, "cuMemMap") == 0)
			mapped(c);
		return;
	case API_CLASS_UNMAP:
		unmapped(c);
		return;
	case API_CLASS_STATE:
		if (strcmp(call->name, "cuMemSetAccess") == 0)
			accessible(c);
		return;
	case API_CLASS_CREATE:
		if (strstr(call->name, "GetGlobal") || strstr(call->name, "GetManaged"))
			global(c, call);
		return;
	case API_CLASS_DESTROY:
		destroyed(c, call);
		return;
	default:
		return;
	}
}

static int start(void)
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
	.name = "allocations",
	.classes = CLASSES,
	.always = CLASSES,
	.start = start,
	.after = after,
};
