/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cache.h"

#include "base/scope.h"

#include <errno.h>
#include <pthread.h>

#define BUCKETS 8192u
#define ITEM_COST (sizeof(struct fs_item) + 64) /* memory of an item in addition to its value */

enum state { MAKING, READY, FAILED };

struct fs_item {
	struct fs_key key;
	struct fs_item *in_bucket;
	struct fs_item *newer, *older; /* while READY */
	void *value;
	void (*drop)(void *value);
	size_t bytes;
	uint32_t users;
	enum state state;
	int error;
};

struct fs_cache {
	pthread_mutex_t lock;
	pthread_cond_t made;
	struct fs_item *buckets[BUCKETS];
	struct fs_item *newest, *oldest;
	size_t bytes, limit;
	size_t reserved; /* in addition to `bytes`, by n_reserved threads */
	unsigned n_reserved;
	pthread_cond_t released;
};

int fs_cache_new(size_t limit_bytes, struct fs_cache **ret)
{
	struct fs_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->limit = limit_bytes;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->made, NULL);
	pthread_cond_init(&c->released, NULL);
	*ret = c;
	return 0;
}

static struct fs_item **bucket_of(struct fs_cache *c, struct fs_key key)
{
	uint64_t h = (key.what ^ key.where * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	return &c->buckets[h >> 51 & (BUCKETS - 1)];
}

static struct fs_item *find_item(struct fs_cache *c, struct fs_key key)
{
	struct fs_item *i = *bucket_of(c, key);

	while (i && (i->key.what != key.what || i->key.where != key.where))
		i = i->in_bucket;
	return i;
}

static void unhash(struct fs_cache *c, struct fs_item *item)
{
	struct fs_item **at = bucket_of(c, item->key);

	while (*at != item)
		at = &(*at)->in_bucket;
	*at = item->in_bucket;
}

static void unlist(struct fs_cache *c, struct fs_item *i)
{
	*(i->newer ? &i->newer->older : &c->newest) = i->older;
	*(i->older ? &i->older->newer : &c->oldest) = i->newer;
	i->newer = i->older = NULL;
}

static void list_newest(struct fs_cache *c, struct fs_item *i)
{
	i->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = i;
	c->newest = i;
}

static void move_to_front(struct fs_cache *c, struct fs_item *i)
{
	if (i == c->newest)
		return;
	unlist(c, i);
	list_newest(c, i);
}

static void item_free(struct fs_item *i)
{
	if (i->value)
		i->drop(i->value);
	free(i);
}

static void remove_item(struct fs_cache *c, struct fs_item *i)
{
	unlist(c, i);
	unhash(c, i);
	c->bytes -= i->bytes;
}

/* True if `more` bytes would exceed the limit. */
static bool is_over(const struct fs_cache *c, size_t more)
{
	return c->bytes + c->reserved + more > c->limit;
}

/* Removes items until the cache is within its limit; the caller frees the chain without the lock.
 */
static struct fs_item *evict(struct fs_cache *c)
{
	struct fs_item *i = c->oldest, *out = NULL;

	while (is_over(c, 0) && i && i != c->newest) {
		struct fs_item *next = i->newer;

		if (i->users == 0) {
			remove_item(c, i);
			i->in_bucket = out;
			out = i;
		}
		i = next;
	}
	return out;
}

static void free_chain(struct fs_item *i)
{
	while (i) {
		struct fs_item *next = i->in_bucket;

		item_free(i);
		i = next;
	}
}

void fs_cache_free(struct fs_cache *c)
{
	if (!c)
		return;
	while (c->newest) {
		struct fs_item *i = c->newest;

		unlist(c, i);
		item_free(i);
	}
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->made);
	pthread_cond_destroy(&c->released);
	free(c);
}

/* With the lock held and a use counted: waits until another thread has made the value. */
static int wait_made(struct fs_cache *c, struct fs_item *i)
{
	while (i->state == MAKING)
		pthread_cond_wait(&c->made, &c->lock);
	return i->state == READY ? 0 : i->error;
}

/* With the lock held: adds an item under construction; other threads wait for it. */
static int add_making(struct fs_cache *c, struct fs_key key, struct fs_item **ret)
{
	struct fs_item *i = calloc(1, sizeof(*i));
	struct fs_item **bucket = bucket_of(c, key);

	if (!i)
		return -ENOMEM;
	i->key = key;
	i->users = 1;
	i->in_bucket = *bucket;
	*bucket = i;
	*ret = i;
	return 0;
}

static struct fs_item *finish_item(struct fs_cache *c, struct fs_item *i, int error, size_t bytes)
{
	i->error = error;
	i->state = error ? FAILED : READY;
	if (error) {
		unhash(c, i);
	} else {
		i->bytes = bytes + ITEM_COST;
		c->bytes += i->bytes;
		list_newest(c, i);
	}
	pthread_cond_broadcast(&c->made);
	return evict(c);
}

int fs_cache_get(struct fs_cache *c, struct fs_key key, const struct fs_item_ops *maker,
		 struct fs_item **ret)
{
	struct fs_item *i, *evicted;
	size_t bytes = 0;
	int r = 0;

	pthread_mutex_lock(&c->lock);
	i = find_item(c, key);
	if (i) {
		i->users++;
		r = wait_made(c, i);
		if (r == 0)
			move_to_front(c, i);
		pthread_mutex_unlock(&c->lock);
	} else {
		r = add_making(c, key, &i);
		pthread_mutex_unlock(&c->lock);
		if (r < 0)
			return r;
		i->drop = maker->drop;
		r = maker->make(maker->context, &i->value, &bytes);
		pthread_mutex_lock(&c->lock);
		evicted = finish_item(c, i, r, bytes);
		pthread_mutex_unlock(&c->lock);
		free_chain(evicted);
	}
	if (r < 0) {
		fs_cache_put(c, i);
		return r;
	}
	*ret = i;
	return 0;
}

struct fs_item *fs_cache_peek(struct fs_cache *c, struct fs_key key)
{
	struct fs_item *i;

	pthread_mutex_lock(&c->lock);
	i = find_item(c, key);
	if (i && i->state == READY) {
		i->users++;
		move_to_front(c, i);
	} else {
		i = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	return i;
}

/* ---- reservations */

void fs_cache_reserve(struct fs_cache *c, size_t bytes)
{
	struct fs_item *evicted;

	pthread_mutex_lock(&c->lock);
	while (c->n_reserved > 0 && is_over(c, bytes))
		pthread_cond_wait(&c->released, &c->lock);
	c->reserved += bytes;
	c->n_reserved++;
	evicted = evict(c);
	pthread_mutex_unlock(&c->lock);
	free_chain(evicted);
}

void fs_cache_release(struct fs_cache *c, size_t bytes)
{
	pthread_mutex_lock(&c->lock);
	c->reserved -= bytes;
	c->n_reserved--;
	pthread_cond_broadcast(&c->released);
	pthread_mutex_unlock(&c->lock);
}

/* `keep`: the value stays cached. */
static void put_item(struct fs_cache *c, struct fs_item *item, bool keep)
{
	struct fs_item *evicted;
	int gone;

	if (!item)
		return;
	pthread_mutex_lock(&c->lock);
	item->users--;
	gone = item->users == 0 && (!keep || item->state == FAILED);
	if (gone && item->state == READY)
		remove_item(c, item);
	evicted = evict(c);
	pthread_mutex_unlock(&c->lock);
	if (gone)
		item_free(item);
	free_chain(evicted);
}

void fs_cache_put(struct fs_cache *c, struct fs_item *item)
{
	put_item(c, item, true);
}

void fs_cache_put_last(struct fs_cache *c, struct fs_item *item)
{
	put_item(c, item, false);
}

void *fs_item_value(const struct fs_item *item)
{
	return item->value;
}

size_t fs_cache_bytes(struct fs_cache *c)
{
	size_t n;

	pthread_mutex_lock(&c->lock);
	n = c->bytes;
	pthread_mutex_unlock(&c->lock);
	return n;
}
