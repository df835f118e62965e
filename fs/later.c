/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/later.h"

#include "base/scope.h"
#include "fs/pool.h"

#include <errno.h>

void fs_later_init(struct fs_later *l, struct fs *fs)
{
	*l = (struct fs_later){.fs = fs};
	pthread_mutex_init(&l->lock, NULL);
}

/* Takes the next call. Returns NULL if not found: then the next call starts a new thread. */
static struct fs_call *next_call(struct fs_later *l)
{
	struct fs_call *c;

	pthread_mutex_lock(&l->lock);
	c = l->waiting;
	l->emulating = c != NULL;
	if (c)
		l->waiting = c->next;
	pthread_mutex_unlock(&l->lock);
	return c;
}

static void *emulate(void *arg)
{
	struct fs_later *l = arg;
	struct fs_call *next;

	while ((next = next_call(l))) {
		scoped(free_ptr) struct fs_call *c = next;

		fs_emulate_now(l->fs, c->ino);
		c->answer(c);
	}
	return NULL;
}

static int start(struct fs_later *l)
{
	int r;

	if (l->started)
		pthread_join(l->emulator, NULL);
	r = fs_thread_start(&l->emulator, emulate, l);
	l->started = r == 0;
	return r;
}

/* With the lock held, before the run exists. */
static int queue(struct fs_later *l, const struct fs_call *c)
{
	scoped(free_ptr) struct fs_call *kept = malloc(sizeof(*kept));
	int r = 0;

	if (!kept)
		return -ENOMEM;
	if (!l->emulating)
		r = start(l);
	if (r < 0)
		return r;
	l->emulating = true;
	*kept = *c;
	kept->next = l->waiting;
	l->waiting = take(kept);
	return 0;
}

int fs_later_take(struct fs_later *l, const struct fs_call *c, bool inside)
{
	bool pending = fs_is_pending(l->fs, c->ino, inside);
	int r = 0;

	if (pending) {
		pthread_mutex_lock(&l->lock);
		pending = fs_is_pending(l->fs, c->ino, inside);
		if (pending)
			r = queue(l, c);
		pthread_mutex_unlock(&l->lock);
	}
	return r < 0 ? r : pending;
}

bool fs_later_done(struct fs_later *l)
{
	if (l->started && pthread_tryjoin_np(l->emulator, NULL) != 0)
		return false;
	pthread_mutex_destroy(&l->lock);
	return true;
}
