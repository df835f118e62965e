/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/spares.h"

#include "base/scope.h"

#define SHORT (64u << 10) /* malloc() has these at hand */

void fs_spares_init(struct fs_spares *s, size_t limit_bytes)
{
	*s = (struct fs_spares){.limit = limit_bytes};
	pthread_mutex_init(&s->lock, NULL);
}

void fs_spares_done(struct fs_spares *s)
{
	for (size_t i = 0; i < FS_SPARES; i++)
		free(s->of[i].data);
	pthread_mutex_destroy(&s->lock);
}

/* The smallest buffer that is large enough and not much too large; or NULL. With the lock held. */
static struct fs_spare *find_spare(struct fs_spares *s, size_t bytes)
{
	struct fs_spare *best = NULL;

	for (size_t i = 0; i < FS_SPARES; i++) {
		struct fs_spare *k = &s->of[i];

		if (k->data && k->cap >= bytes && k->cap / 2 <= bytes &&
		    (!best || k->cap < best->cap))
			best = k;
	}
	return best;
}

void fs_spares_take(struct fs_spares *s, struct text *t, size_t bytes)
{
	struct fs_spare *found;

	pthread_mutex_lock(&s->lock);
	found = bytes < SHORT ? NULL : find_spare(s, bytes);
	if (found) {
		s->bytes -= found->cap;
		t->cap = found->cap;
		t->data = take(found->data);
	}
	pthread_mutex_unlock(&s->lock);
	if (!found)
		text_reserve(t, bytes);
}

/* An unused slot, or the one with the smallest buffer. With the lock held. */
static struct fs_spare *slot_for(struct fs_spares *s)
{
	struct fs_spare *slot = &s->of[0];

	for (size_t i = 1; i < FS_SPARES && slot->data; i++)
		if (!s->of[i].data || s->of[i].cap < slot->cap)
			slot = &s->of[i];
	return slot;
}

void fs_spares_give(struct fs_spares *s, char *data, size_t cap)
{
	struct fs_spare given = {data, cap}, *slot;

	if (cap >= SHORT && cap <= s->limit) {
		struct fs_spare old;

		pthread_mutex_lock(&s->lock);
		slot = slot_for(s);
		old = *slot;
		if (s->bytes - (old.data ? old.cap : 0) + cap <= s->limit) {
			s->bytes += cap - (old.data ? old.cap : 0);
			*slot = given;
			given = old;
		}
		pthread_mutex_unlock(&s->lock);
	}
	free(given.data);
}
