/* SPDX-License-Identifier: Apache-2.0 */

/* What was made lately: rendered files, or parts of them, and decoded slices, together in a bounded
 * number of bytes.
 *
 * Any number of threads may use it at once. A thing that several ask for is made once: the others
 * wait. What is in use is never dropped, and neither is the thing that was used last, so the bound
 * may be passed by what is in use and by one thing that is larger than all of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fs_cache;
struct fs_item;

struct fs_key {
	uint64_t what, where;
};

/* How a thing is made and dropped. */
struct fs_maker {
	/* Sets *ret and the bytes that it takes; 0 or a negative errno, which is not remembered. */
	int (*make)(void *context, void **ret, size_t *bytes);
	void (*drop)(void *thing);
	void *context;
};

/* `limit_bytes` is for what is kept and what is reserved. */
int fs_cache_new(size_t limit_bytes, struct fs_cache **ret);
void fs_cache_free(struct fs_cache *c);

/* Finds or makes. The thing stands until fs_cache_put(). */
int fs_cache_get(struct fs_cache *c, struct fs_key key, const struct fs_maker *maker,
		 struct fs_item **ret);

/* Reserves memory that making things takes: waits until it fits, or nobody else has reserved any. A
 * maker must not call it: what it makes may be what others wait for. */
void fs_cache_reserve(struct fs_cache *c, size_t bytes);
void fs_cache_release(struct fs_cache *c, size_t bytes);

/* The thing if it is there already, else NULL. */
struct fs_item *fs_cache_peek(struct fs_cache *c, struct fs_key key);
void fs_cache_put(struct fs_cache *c, struct fs_item *item);

/* The same of a thing that is not likely to be wanted again: dropped, unless somebody uses it. */
void fs_cache_put_last(struct fs_cache *c, struct fs_item *item);

/* The same of a thing that is quickly made again from others: dropped if the cache is half full. */
void fs_cache_put_cheap(struct fs_cache *c, struct fs_item *item);
void *fs_item_thing(const struct fs_item *item);

/* True the first time that it is called for an item since that was made; `item` may be NULL. */
bool fs_item_claim(struct fs_item *item);

/* The bytes that are kept now. */
size_t fs_cache_bytes(struct fs_cache *c);
