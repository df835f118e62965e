/* SPDX-License-Identifier: Apache-2.0 */

/* Functions of the driver itself, below a capture library: their calls are not recorded. Pointers
 * are NULL before rex_driver_find(). Functions return the driver's results. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Structs and values of the driver's interface. */
struct rex_driver_location {
	int type, id;
};
struct rex_driver_prop {
	int type, handle_types;
	struct rex_driver_location location;
	void *win32;
	uint8_t flags[8];
};
struct rex_driver_access {
	struct rex_driver_location location;
	int flags;
};
/* Parameters of graph nodes. */
struct rex_driver_alloc_node {
	int type, handle_types;
	struct rex_driver_location location;
	uint8_t others[96];
	uint64_t at; /* of the memory; set by the driver */
};
struct rex_driver_node {
	int type, reserved[3];
	union {
		struct rex_driver_alloc_node alloc;
		uint64_t freed;
	};
};
enum { REX_NODE_FREE = 11 };
enum {
	REX_PINNED = 1,
	REX_ON_DEVICE = 1,
	REX_READ_WRITE = 3,
	REX_PORTABLE = 1,
	REX_DEVICE_MAP = 2
};
enum { REX_INVALID_VALUE = 1 };

struct rex_driver {
	int (*reserve)(uint64_t *ret, size_t bytes, size_t align, uint64_t at,
		       unsigned long long flags);
	int (*unreserve)(uint64_t at, size_t bytes);
	int (*create)(uint64_t *ret, size_t bytes, const struct rex_driver_prop *,
		      unsigned long long flags);
	int (*release)(uint64_t handle);
	int (*map)(uint64_t at, size_t bytes, size_t offset, uint64_t handle,
		   unsigned long long flags);
	int (*set_access)(uint64_t at, size_t bytes, const struct rex_driver_access *, size_t n);
	int (*device)(int *ret);
	int (*count)(int *ret);
	int (*can_access)(int *ret, int device, int peer);
	int (*synchronize)(void);
	int (*lock_pages)(void *at, size_t bytes, unsigned flags);
	int (*retain)(void **ret, int device);
	int (*push)(void *context);
	int (*pop)(void **ret);
	int (*copy)(uint64_t to, uint64_t from, size_t bytes);
	int (*to_device)(uint64_t to, const void *from, size_t bytes, uint64_t stream);
	int (*from_device)(void *to, uint64_t from, size_t bytes, uint64_t stream);
	int (*synchronize_stream)(uint64_t stream);
	int (*add_empty_node)(void **ret, void *graph, void *const *deps, size_t n);
	int (*address_range)(uint64_t *start, size_t *bytes, uint64_t at);
};

extern struct rex_driver rex_driver;

/* Looks up all functions. Called once. */
void rex_driver_find(void *(*find)(const char *name));

/* Reserves addresses until the end: the wanted ones, or if the driver does not follow that hint,
 * and with `relocate`, others with the same low 32 bits. Returns the driver's result. */
int rex_driver_reserve(uint64_t *ret, size_t bytes, uint64_t wanted, bool relocate);
