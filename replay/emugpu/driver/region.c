/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/handle.h"
#include "replay/emugpu/driver/memory.h"

static struct {
	pthread_rwlock_t lock;
	struct emu_region *items; /* by base */
	size_t n, cap;
} regions = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static size_t first_above(uintptr_t at)
{
	return array_bound(i, 0, regions.n, regions.items[i].base <= at);
}

/* Mappings are within reservations; other regions do not overlap. */
static int region_overlaps(size_t i, const struct emu_region *r)
{
	const struct emu_region *before = i > 0 ? &regions.items[i - 1] : NULL;
	const struct emu_region *after = i < regions.n ? &regions.items[i] : NULL;

	if (before && before->base + before->bytes > r->base && before->kind != EMU_RESERVED)
		return 1;
	return after && r->base + r->bytes > after->base && r->kind != EMU_RESERVED;
}

int emu_region_add(const struct emu_region *r)
{
	int error = 0;

	pthread_rwlock_wrlock(&regions.lock);
	size_t i = first_above(r->base);

	if (region_overlaps(i, r)) {
		error = -EEXIST;
	} else if (array_reserve(&regions.items, regions.n + 1, &regions.cap) < 0) {
		error = -ENOMEM;
	} else {
		memmove(&regions.items[i + 1], &regions.items[i], (regions.n - i) * sizeof(*r));
		regions.items[i] = *r;
		regions.items[i].id = emu_new_id();
		regions.n++;
	}
	pthread_rwlock_unlock(&regions.lock);
	return error;
}

int emu_region_remove(uintptr_t base, enum emu_region_kind kind, struct emu_region *ret)
{
	int r = -EINVAL;

	pthread_rwlock_wrlock(&regions.lock);
	for (size_t i = first_above(base); i > 0 && regions.items[i - 1].base == base; i--) {
		if (regions.items[i - 1].kind != kind)
			continue;
		*ret = regions.items[i - 1];
		regions.n--;
		memmove(&regions.items[i - 1], &regions.items[i],
			(regions.n - (i - 1)) * sizeof(*ret));
		r = 0;
		break;
	}
	pthread_rwlock_unlock(&regions.lock);
	return r;
}

void emu_region_access(uintptr_t at, size_t bytes, uint64_t given, uint64_t taken)
{
	pthread_rwlock_wrlock(&regions.lock);
	for (size_t i = 0; i < regions.n; i++) {
		struct emu_region *r = &regions.items[i];

		if (r->kind == EMU_MAPPED && r->base - at < bytes)
			r->reach = (r->reach & ~taken) | given;
	}
	pthread_rwlock_unlock(&regions.lock);
}

static int device_region(uintptr_t at, struct emu_region *ret)
{
	for (int i = 0; i < emu.n_devices; i++) {
		struct emu_device *d = &emu.devices[i];

		if (!emu_memory_holds(d->memory, at))
			continue;
		ret->kind = EMU_DEVICE;
		ret->device = d;
		if (emu_memory_find(d->memory, at, &ret->base, &ret->bytes, &ret->id) < 0)
			ret->kind = EMU_UNKNOWN;
		return 1;
	}
	return 0;
}

struct emu_region emu_region_find(uintptr_t at)
{
	struct emu_region found = {.base = at};

	if (device_region(at, &found))
		return found;
	pthread_rwlock_rdlock(&regions.lock);
	/* A mapping is sorted after the reservation that contains it. */
	for (size_t i = first_above(at); i > 0; i--) {
		const struct emu_region *r = &regions.items[i - 1];

		if (at - r->base < r->bytes) {
			found = *r;
			break;
		}
		if (r->kind == EMU_RESERVED)
			break;
	}
	pthread_rwlock_unlock(&regions.lock);
	return found;
}
