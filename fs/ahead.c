/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ahead.h"

#include <sched.h>

#define WINDOWS_MAX 4

/* As many as there are processors, but for one processor none: it has enough to do. */
static size_t n_windows(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n <= 1 ? 0 : n < WINDOWS_MAX ? (size_t)n : WINDOWS_MAX;
}

void fs_ahead_init(struct fs_ahead *a, struct fs *fs, struct fs_pool *pool)
{
	*a = (struct fs_ahead){.fs = fs, .pool = pool, .windows = n_windows()};
	pthread_mutex_init(&a->lock, NULL);
}

size_t fs_ahead_note(struct fs_ahead *a, fs_ino ino, uint64_t offset, size_t size, uint64_t *from)
{
	size_t n = 0;
	int goes_on;

	pthread_mutex_lock(&a->lock);
	goes_on = ino == a->ino && offset == a->end && offset > 0;
	a->ino = ino;
	a->end = offset + size;
	if (!goes_on || a->given < a->end)
		a->given = a->end;
	*from = a->given;
	for (; goes_on && a->given < a->end + a->windows * (uint64_t)size; n++)
		a->given += size;
	pthread_mutex_unlock(&a->lock);
	return n;
}

static void make(const struct fs_call *c)
{
	fs_read_ahead(c->request, c->ino, c->offset, c->size);
}

void fs_ahead_read(struct fs_ahead *a, fs_ino ino, uint64_t offset, size_t size)
{
	struct fs_call c = {.answer = make, .request = a->fs, .ino = ino, .size = size};
	size_t n = fs_ahead_note(a, ino, offset, size, &c.offset);

	for (; n > 0 && fs_is_long(a->fs, ino); n--, c.offset += size)
		fs_pool_give(a->pool, &c);
}
