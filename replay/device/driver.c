/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/driver.h"

#include "base/array.h"

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
		{"cuGraphAddEmptyNode", &rex_driver.add_empty_node},
		{"cuMemGetAddressRange_v2", &rex_driver.address_range},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		void *found = find(wanted[i].name);

		memcpy(wanted[i].to, &found, sizeof(found));
	}
}

/* ---- reserved addresses */

#define WINDOW (UINT64_C(1) << 32)

int rex_driver_reserve(uint64_t *ret, size_t bytes, uint64_t wanted, bool relocate)
{
	uint64_t start = 0;
	int rc = rex_driver.reserve(ret, bytes, 0, wanted, 0);

	if (rc != 0 || *ret == wanted)
		return rc;
	rex_driver.unreserve(*ret, bytes);
	rc = relocate ? rex_driver.reserve(&start, bytes + WINDOW, 0, 0, 0) : REX_INVALID_VALUE;
	*ret = start + WINDOW - (uint32_t)(start - wanted);
	return rc;
}
