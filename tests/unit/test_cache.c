/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cache.h"

#include "base/array.h"
#include "base/scope.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

define_cleanup(fs_cache_freep, struct fs_cache *, fs_cache_free);

static int make_block(void *context, void **ret, size_t *bytes)
{
	__atomic_fetch_add((int *)context, 1, __ATOMIC_RELAXED);
	*bytes = 1000;
	*ret = malloc(*bytes);
	usleep(1000);
	return *ret ? 0 : -ENOMEM;
}

static int make_failure(void *context, void **ret, size_t *bytes)
{
	++*(int *)context;
	return -EIO;
}

TEST(test_the_cache_is_bounded_and_keeps_used_items)
{
	int made = 0;
	struct fs_item_ops maker = {make_block, free, &made}, broken = {make_failure, free, &made};
	struct fs_item *first, *item;
	scoped(fs_cache_freep) struct fs_cache *c = NULL;

	ck_assert_int_eq(fs_cache_new(5000, &c), 0);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &first), 0);
	for (uint64_t i = 1; i < 50; i++) {
		ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, i}, &maker, &item), 0);
		fs_cache_put(c, item);
		ck_assert_uint_le(fs_cache_bytes(c), 5000);
	}
	ck_assert_int_eq(made, 50);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &item), 0);
	ck_assert_ptr_eq(item, first);
	ck_assert_int_eq(made, 50);
	fs_cache_put(c, item);
	fs_cache_put(c, first);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 1}, &maker, &item), 0);
	ck_assert_int_eq(made, 51);
	fs_cache_put(c, item);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(fs_cache_get(c, (struct fs_key){9, 9}, &broken, &item), -EIO);
	ck_assert_int_eq(made, 53);
}

TEST(test_unreferenced_items_can_be_evicted)
{
	int made = 0;
	struct fs_item_ops maker = {make_block, free, &made};
	struct fs_item *one, *two;
	scoped(fs_cache_freep) struct fs_cache *c = NULL;

	ck_assert_int_eq(fs_cache_new(5000, &c), 0);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &one), 0);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &two), 0);
	fs_cache_put_last(c, one);
	ck_assert_uint_ge(fs_cache_bytes(c), 1000);
	fs_cache_put_last(c, two);
	ck_assert_uint_eq(fs_cache_bytes(c), 0);
	ck_assert_int_eq(fs_cache_get(c, (struct fs_key){0, 0}, &maker, &one), 0);
	ck_assert_int_eq(made, 2);
	fs_cache_put(c, one);
	ck_assert_uint_ge(fs_cache_bytes(c), 1000);
}

struct reader {
	struct fs_cache *cache;
	struct fs_item_ops maker;
};

static void *read_some(void *arg)
{
	struct reader *r = arg;

	for (uint64_t i = 0; i < 20; i++) {
		struct fs_item *item;

		ck_assert_int_eq(fs_cache_get(r->cache, (struct fs_key){1, i}, &r->maker, &item),
				 0);
		ck_assert_ptr_nonnull(fs_item_value(item));
		fs_cache_put(r->cache, item);
	}
	return NULL;
}

TEST(test_concurrent_requests_make_an_item_once)
{
	int made = 0;
	struct reader r = {.maker = {make_block, free, &made}};
	pthread_t threads[8];

	ck_assert_int_eq(fs_cache_new(1 << 20, &r.cache), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_some, &r), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(made, 20);
	fs_cache_free(r.cache);
}

/* ---- reserved memory */

struct reserving {
	struct fs_cache *cache;
	_Atomic size_t now, most;
};

static void *reserve_some(void *arg)
{
	struct reserving *r = arg;

	for (int i = 0; i < 20; i++) {
		size_t now;

		fs_cache_reserve(r->cache, 1500);
		now = atomic_fetch_add(&r->now, 1500) + 1500;
		if (now > r->most)
			r->most = now;
		usleep(100);
		r->now -= 1500;
		fs_cache_release(r->cache, 1500);
	}
	return NULL;
}

TEST(test_reserved_memory_is_bounded)
{
	struct reserving r = {0};
	struct fs_item *item;
	pthread_t threads[8];
	int made = 0;
	struct fs_item_ops maker = {make_block, free, &made};

	ck_assert_int_eq(fs_cache_new(5000, &r.cache), 0);
	for (uint64_t i = 0; i < 4; i++) {
		ck_assert_int_eq(fs_cache_get(r.cache, (struct fs_key){0, i}, &maker, &item), 0);
		fs_cache_put(r.cache, item);
	}
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, reserve_some, &r), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_le(r.most, 4500);
	/* A reservation evicts cached items. An item larger than the cache is not kept. */
	fs_cache_reserve(r.cache, 4500);
	ck_assert_uint_le(fs_cache_bytes(r.cache), 1500);
	fs_cache_release(r.cache, 4500);
	fs_cache_reserve(r.cache, 1 << 20);
	fs_cache_release(r.cache, 1 << 20);
	fs_cache_free(r.cache);
}
