/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/driver.h"

#include "base/array.h"

#include <pthread.h>
#include <string.h>

struct rex_driver rex_driver;

void rex_driver_find(void *(*find)(const char *name))
{
	static const struct {
		const char *name;
		void *to;
	} wanted[] = {
		{"cuMemAddressReserve", &rex_driver.reserve},
		{"cuMemAddressFree", &rex_driver.unreserve},
		{"cuMemCreate", &rex_driver.create},
		{"cuMemRelease", &rex_driver.release},
		{"cuMemMap", &rex_driver.map},
		{"cuMemSetAccess", &rex_driver.set_access},
		{"cuCtxGetDevice", &rex_driver.device},
		{"cuDeviceGetCount", &rex_driver.count},
		{"cuDeviceCanAccessPeer", &rex_driver.can_access},
		{"cuCtxSynchronize", &rex_driver.synchronize},
		{"cuMemHostRegister_v2", &rex_driver.lock_pages},
		{"cuDevicePrimaryCtxRetain", &rex_driver.retain},
		{"cuCtxPushCurrent_v2", &rex_driver.push},
		{"cuCtxPopCurrent_v2", &rex_driver.pop},
		{"cuMemcpy", &rex_driver.copy},
		{"cuMemcpyHtoDAsync_v2", &rex_driver.to_device},
		{"cuMemcpyDtoHAsync_v2", &rex_driver.from_device},
		{"cuStreamSynchronize", &rex_driver.synchronize_stream},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		void *found = find(wanted[i].name);

		memcpy(wanted[i].to, &found, sizeof(found));
	}
}

/* ---- reserved addresses */

#define WINDOW (UINT64_C(1) << 32)

/* Reservations that are longer than requested, by WINDOW. */
static struct {
	pthread_mutex_t lock;
	struct longer {
		uint64_t start, at;
	} * items;
	size_t n, cap;
} longer = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Reserves addresses of which the low 32 bits are those of `wanted`. */
static int reserve_longer(uint64_t *ret, size_t bytes, uint64_t wanted)
{
	uint64_t start = 0;
	int rc = rex_driver.reserve(&start, bytes + WINDOW, 0, 0, 0);

	if (rc != 0)
		return rc;
	*ret = start + WINDOW - (uint32_t)(start - wanted);
	pthread_mutex_lock(&longer.lock);
	if (array_reserve(&longer.items, longer.n + 1, &longer.cap) == 0)
		longer.items[longer.n++] = (struct longer){start, *ret};
	pthread_mutex_unlock(&longer.lock);
	return 0;
}

int rex_driver_reserve(uint64_t *ret, size_t bytes, uint64_t wanted)
{
	int rc = rex_driver.reserve(ret, bytes, 0, wanted, 0);

	if (rc != 0 || *ret == wanted)
		return rc;
	rex_driver.unreserve(*ret, bytes);
	return reserve_longer(ret, bytes, wanted);
}

int rex_driver_unreserve(uint64_t at, size_t bytes)
{
	pthread_mutex_lock(&longer.lock);
	for (size_t i = 0; i < longer.n; i++) {
		if (longer.items[i].at != at)
			continue;
		at = longer.items[i].start;
		bytes += WINDOW;
		longer.items[i] = longer.items[--longer.n];
		break;
	}
	pthread_mutex_unlock(&longer.lock);
	return rex_driver.unreserve(at, bytes);
}
