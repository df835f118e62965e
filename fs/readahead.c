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
	pthread_mutex_init(&a->claiming, NULL);
	fs_pages_init(&a->edges);
}

void fs_readahead_done(struct fs_readahead *a)
{
	fs_pages_done(&a->edges);
	pthread_mutex_destroy(&a->lock);
	pthread_mutex_destroy(&a->claiming);
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

/* Registers the window as being stored. Returns its slot, or -1 if already registered, or if all
 * slots are in use. */
static int begin_storing(struct fs_readahead *a, fs_ino ino, uint64_t from)
{
	int slot = -1;

	pthread_mutex_lock(&a->lock);
	for (int i = 0; i < FS_STORING_MAX && !a->closing; i++) {
		if (a->storing[i].ino == ino && a->storing[i].from == from) {
			slot = -1;
			break;
		}
		slot = a->storing[i].ino ? slot : i;
	}
	if (slot >= 0) {
		a->storing[slot].ino = ino;
		a->storing[slot].from = from;
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

/* Stores a page once all its parts are known. */
static int store_edge(struct fs_readahead *a, fs_ino ino, uint64_t offset, const char *data,
		      size_t size)
{
	char page[FS_PAGE];

	if (!fs_pages_add(&a->edges, ino, offset, data, size, page))
		return 0;
	return a->store(a->context, ino, offset / FS_PAGE * FS_PAGE, page, sizeof(page));
}

static int store_bytes(struct fs_readahead *a, fs_ino ino, uint64_t offset, const char *data,
		       size_t size, bool is_last)
{
	size_t first = (size_t)(-offset % FS_PAGE), middle, last;
	int r = 0;

	first = first < size ? first : size;
	last = is_last ? 0 : (offset + size) % FS_PAGE;
	last = last < size - first ? last : size - first;
	middle = size - first - last;
	if (first > 0)
		r = store_edge(a, ino, offset, data, first);
	if (r == 0 && middle > 0)
		r = a->store(a->context, ino, offset + first, data + first, middle);
	if (r == 0 && last > 0)
		r = store_edge(a, ino, offset + first + middle, data + first + middle, last);
	return r;
}

/* Stores the bytes of `view`, which begin at `offset`. */
static int store_view(struct fs_readahead *a, fs_ino ino, uint64_t offset, bool is_last,
		      const struct fs_view *view)
{
	scoped(free_ptr) char *joined = NULL;
	size_t size;

	if (view->n == 0)
		return 0;
	if (view->n == 1)
		return store_bytes(a, ino, offset, view->parts[0].iov_base, view->parts[0].iov_len,
				   is_last);
	joined = fs_view_join(view, &size);
	return joined ? store_bytes(a, ino, offset, joined, size, is_last) : -ENOMEM;
}

/* Renders and stores the window from `offset` on. */
static void store_window(struct fs_readahead *a, fs_ino ino, uint64_t offset,
			 const struct fs_window *w)
{
	scoped(fs_view_done) struct fs_view view = {0};
	int slot = begin_storing(a, ino, w->from);

	if (slot < 0)
		return;
	if (fs_read(a->fs, ino, offset, (size_t)(w->end - offset), &view) == 0)
		store_view(a, ino, offset, w->is_last, &view);
	end_storing(a, slot);
}

/* True if a part of the view was rendered for it. Each rendering is reported once. */
static bool view_is_new(const struct fs_view *view)
{
	bool is_new = false;

	for (size_t i = 0; i < view->n; i++)
		is_new |= fs_item_claim(view->held[i].item);
	return is_new;
}

void fs_readahead_after_read(struct fs_readahead *a, fs_ino ino, uint64_t offset, size_t size,
			     const struct fs_view *view)
{
	struct fs_window w;

	if (!view_is_new(view) || fs_window(a->fs, ino, offset + size - 1, &w) < 0)
		return;
	/* A sequential reader has the bytes before `offset`; a random reader needs all. */
	if (w.from < offset && size > FS_PAGE && offset + size < w.end)
		store_window(a, ino, offset + size, &w);
	else
		store_window(a, ino, w.from, &w);
}

/* ---- following a sequential reader */

/* Claims the next window to store. */
static bool claim_window(struct fs_readahead *a, fs_ino *ino, struct fs_window *ret)
{
	uint64_t next;
	bool found;

	pthread_mutex_lock(&a->claiming);
	pthread_mutex_lock(&a->lock);
	*ino = a->ino;
	next = a->next;
	found = next < a->until && !a->closing;
	pthread_mutex_unlock(&a->lock);
	found = found && fs_window(a->fs, *ino, next, ret) == 0;

	pthread_mutex_lock(&a->lock);
	if (found && a->ino == *ino && a->next == next)
		a->next = ret->end;
	if (!found || ret->is_last)
		a->until = a->next;
	a->n_workers -= !found;
	pthread_mutex_unlock(&a->lock);
	pthread_mutex_unlock(&a->claiming);
	return found;
}

static void follow(const struct fs_call *c)
{
	struct fs_readahead *a = c->request;
	struct fs_window w;
	fs_ino ino;

	while (claim_window(a, &ino, &w))
		store_window(a, ino, w.from, &w);
}

void fs_readahead_before_read(struct fs_readahead *a, fs_ino ino, uint64_t offset, size_t size)
{
	struct fs_call c = {.answer = follow, .request = a};

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
