/* SPDX-License-Identifier: Apache-2.0 */

/* Cache of recently made values: rendered files or parts of them, and decoded slices, with a common
 * limit in bytes.
 *
 * Thread-safe. A value that several threads request is made once; the others wait for it. Values in
 * use and the value used last are never dropped, so the cache may exceed its limit by the values in
 * use, or by one value larger than the limit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fs_cache;
struct fs_item;

struct fs_key {
	uint64_t what, where;
};

/* Makes and frees a value. */
struct fs_item_ops {
	/* Sets *ret and its size in bytes. Returns 0 or a negative errno; errors are not cached. */
	int (*make)(void *context, void **ret, size_t *bytes);
	void (*drop)(void *value);
	void *context;
};

/* `limit_bytes` limits cached values and reservations together. */
int fs_cache_new(size_t limit_bytes, struct fs_cache **ret);
void fs_cache_free(struct fs_cache *c);

/* Finds or makes a value. It stays valid until fs_cache_put(). */
int fs_cache_get(struct fs_cache *c, struct fs_key key, const struct fs_item_ops *maker,
		 struct fs_item **ret);

/* Reserves memory for making values: waits until it fits, or until no other reservation exists. A
 * maker must not call it, because other threads may be waiting for the maker's value. */
void fs_cache_reserve(struct fs_cache *c, size_t bytes);
void fs_cache_release(struct fs_cache *c, size_t bytes);

/* Returns the item if it is cached, else NULL. */
struct fs_item *fs_cache_peek(struct fs_cache *c, struct fs_key key);
void fs_cache_put(struct fs_cache *c, struct fs_item *item);

/* As fs_cache_put(), for a value that is unlikely to be used again: drops it if it is not in use.
 */
void fs_cache_put_last(struct fs_cache *c, struct fs_item *item);

void *fs_item_value(const struct fs_item *item);

/* Returns the number of bytes now in the cache. */
size_t fs_cache_bytes(struct fs_cache *c);
