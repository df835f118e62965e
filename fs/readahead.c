/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/readahead.h"

#include "base/host.h"
#include "base/scope.h"

#include <errno.h>

#define FIRST_BATCH (UINT64_C(1) << 20)
#define LAST_BATCH (UINT64_C(16) << 20)
#define MAX_WORKERS 4

/* One thread per processor; none on a single processor, because the reader needs it. */
static unsigned n_workers(void)
{
	unsigned n = host_n_processors();

	return n == 1 ? 0 : n < MAX_WORKERS ? n : MAX_WORKERS;
}

void fs_readahead_init(struct fs_readahead *a, struct fs *fs, struct fs_pool *pool, fs_store *store,
		       void *context)
{
	*a = (struct fs_readahead){.fs = fs,
				   .pool = pool,
				   .store = store,
				   .context = context,
				   .max_workers = n_workers()};
	pthread_mutex_init(&a->lock, NULL);
}

void fs_readahead_done(struct fs_readahead *a)
{
	pthread_mutex_destroy(&a->lock);
}

bool fs_readahead_note(struct fs_readahead *a, fs_ino ino, uint64_t offset, size_t size)
{
	bool continues, starts;

	pthread_mutex_lock(&a->lock);
	continues = ino == a->ino && offset > 0 && offset >= a->end && offset <= a->until;
	a->ino = ino;
	a->end = offset + size;
	if (!continues) {
		a->batch = FIRST_BATCH / 2;
		a->next = a->until = a->end;
	} else if (a->max_workers > 0) {
		a->batch = a->batch * 2 < LAST_BATCH ? a->batch * 2 : LAST_BATCH;
		a->next = a->next < a->end ? a->end : a->next;
		a->until = a->end + a->batch;
	} else {
		a->until = a->end;
	}
	starts = a->next < a->until && a->n_workers < a->max_workers && !a->closing;
	a->n_workers += starts;
	pthread_mutex_unlock(&a->lock);
	return starts;
}

/* ---- storing */

/* Registers bytes of a file as being stored. Returns their slot, or -1 if some of them are already
 * registered, or if all slots are in use. */
static int begin_storing(struct fs_readahead *a, fs_ino ino, uint64_t from, uint64_t end)
{
	int slot = -1;

	pthread_mutex_lock(&a->lock);
	for (int i = 0; i < FS_STORING_MAX && !a->closing; i++) {
		if (a->storing[i].ino == ino && a->storing[i].from < end &&
		    from < a->storing[i].end) {
			slot = -1;
			break;
		}
		slot = a->storing[i].ino ? slot : i;
	}
	if (slot >= 0) {
		a->storing[slot].ino = ino;
		a->storing[slot].from = from;
		a->storing[slot].end = end;
	}
	pthread_mutex_unlock(&a->lock);
	return slot;
}

static void end_storing(struct fs_readahead *a, int slot)
{
	pthread_mutex_lock(&a->lock);
	a->storing[slot].ino = 0;
	pthread_mutex_unlock(&a->lock);
}

/* Renders and stores the bytes [from, end) of the file. Returns their number; fewer at the end of
 * the file; a negative errno. */
static long store_bytes(struct fs_readahead *a, fs_ino ino, uint64_t from, uint64_t end)
{
	scoped(fs_view_done) struct fs_view view = {0};
	scoped(free_ptr) char *joined = NULL;
	size_t size = 0;
	int r = fs_read(a->fs, ino, from, (size_t)(end - from), &view);

	if (r < 0 || view.n == 0)
		return r;
	if (view.n > 1) {
		joined = fs_view_join(&view, &size);
		if (!joined)
			return -ENOMEM;
	} else {
		size = view.parts[0].iov_len;
	}
	r = a->store(a->context, ino, from, joined ?: view.parts[0].iov_base, size);
	return r < 0 ? r : (long)size;
}

/* A reader that has caught up continues as soon as so many bytes are stored. */
#define STEP_BYTES (UINT64_C(512) << 10)

/* Stores the bytes [from, end), which begin at a page and end at one, or after the end of the file.
 * Returns true unless the file ends before `end` or cannot be read. */
static bool store_window(struct fs_readahead *a, fs_ino ino, uint64_t from, uint64_t end)
{
	int slot = begin_storing(a, ino, from, end);
	long n;

	if (slot < 0)
		return true;
	while (from < end) {
		uint64_t to = from + STEP_BYTES < end ? from + STEP_BYTES : end;

		n = store_bytes(a, ino, from, to);
		if (n < (long)(to - from))
			break;
		from = to;
	}
	end_storing(a, slot);
	return from == end;
}

/* True if workers store what comes after `end`. */
static bool is_followed(struct fs_readahead *a, fs_ino ino, uint64_t end)
{
	bool followed;

	pthread_mutex_lock(&a->lock);
	followed = ino == a->ino && end < a->until;
	pthread_mutex_unlock(&a->lock);
	return followed;
}

void fs_readahead_after_read(struct fs_readahead *a, fs_ino ino, uint64_t offset, size_t size)
{
	uint64_t end = offset + size, from = (end - 1) / FS_READAHEAD_WINDOW * FS_READAHEAD_WINDOW;
	uint64_t window_end = from + FS_READAHEAD_WINDOW;

	/* A sequential reader has the bytes before `offset`; a random reader needs all. */
	if (from < offset && size > FS_PAGE)
		from = end;
	if (from < window_end && !is_followed(a, ino, end))
		store_window(a, ino, from, window_end);
}

/* ---- following a sequential reader */

/* Claims the rest of the next window. */
static bool claim_window(struct fs_readahead *a, fs_ino *ino, uint64_t *from, uint64_t *end)
{
	bool found;

	pthread_mutex_lock(&a->lock);
	found = a->next < a->until && !a->closing;
	*ino = a->ino;
	*from = a->next;
	*end = (a->next / FS_READAHEAD_WINDOW + 1) * FS_READAHEAD_WINDOW;
	if (found)
		a->next = *end;
	a->n_workers -= !found;
	pthread_mutex_unlock(&a->lock);
	return found;
}

static void store_ahead(const struct fs_call *c)
{
	struct fs_readahead *a = c->request;
	uint64_t from, end;
	fs_ino ino;

	while (claim_window(a, &ino, &from, &end)) {
		if (store_window(a, ino, from, end))
			continue;
		pthread_mutex_lock(&a->lock);
		if (a->ino == ino)
			a->until = a->next;
		pthread_mutex_unlock(&a->lock);
	}
}

void fs_readahead_before_read(struct fs_readahead *a, fs_ino ino, uint64_t offset, size_t size)
{
	struct fs_call c = {.answer = store_ahead, .request = a};

	if (!fs_readahead_note(a, ino, offset, size) || fs_pool_submit(a->pool, &c) == 0)
		return;
	pthread_mutex_lock(&a->lock);
	a->n_workers--;
	pthread_mutex_unlock(&a->lock);
}

void fs_readahead_close(struct fs_readahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->closing = true;
	pthread_mutex_unlock(&a->lock);
}

bool fs_readahead_is_storing(struct fs_readahead *a)
{
	bool any = false;

	pthread_mutex_lock(&a->lock);
	for (int i = 0; i < FS_STORING_MAX; i++)
		any |= a->storing[i].ino != 0;
	pthread_mutex_unlock(&a->lock);
	return any;
}
