/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/loader.h"

#include "base/host.h"

#include <errno.h>
#include <pthread.h>

#define THREADS_MAX 16
#define AHEAD (2 * THREADS_MAX) /* slices */

/* A slice that is decoded, or will be. */
struct loaded {
	bool ready;
	int r;
	uint64_t records;
	struct fmt_slice *slice;
	struct fmt_error err;
};

struct fmt_loader {
	struct fmt_trace *trace;
	unsigned want;
	struct fmt_walk walk; /* the caller's */

	pthread_mutex_t lock; /* protects the following members */
	pthread_cond_t changed;
	struct fmt_walk ahead; /* the next slice that a thread will decode */
	struct loaded loaded[AHEAD];
	uint64_t n_taken, n_returned; /* slices */
	uint64_t records;	      /* of the slices in between */
	bool ended;
	pthread_t threads[THREADS_MAX];
	unsigned n_threads;
};

static uint64_t n_records(const struct fmt_slice_info *info)
{
	uint64_t n = info->n_edges + info->n_digests;

	for (size_t kind = 0; kind < FMT_KINDS; kind++)
		n += info->n_records[kind];
	return n;
}

/* Returns true if the part is large enough for threads. */
static bool has_many(struct fmt_trace *t, const struct fmt_part *part)
{
	struct fmt_part quiet = {.iteration = part->iteration, .rank = part->rank};
	struct fmt_walk w = fmt_walk(t, &quiet);
	uint64_t n = 0, slices = 0;

	while (n < FMT_LOADER_RECORDS && fmt_walk_next(&w)) {
		n += n_records(w.info);
		slices++;
	}
	return n >= FMT_LOADER_RECORDS && slices > 1;
}

/* With the lock held: returns the next slice to decode, once there is space for it; NULL at the
 * end. */
static struct loaded *take_slice(struct fmt_loader *l)
{
	struct loaded *k;

	while (!l->ended && l->n_taken > l->n_returned &&
	       (l->n_taken - l->n_returned == AHEAD || l->records > FMT_LOADER_RECORDS))
		pthread_cond_wait(&l->changed, &l->lock);
	if (l->ended || !fmt_walk_next(&l->ahead)) {
		l->ended = true;
		return NULL;
	}
	k = &l->loaded[l->n_taken++ % AHEAD];
	*k = (struct loaded){.records = n_records(l->ahead.info)};
	l->records += k->records;
	return k;
}

static void *decode_chunks(void *arg)
{
	struct fmt_loader *l = arg;
	struct loaded *k;

	pthread_mutex_lock(&l->lock);
	while ((k = take_slice(l))) {
		uint32_t rank = l->ahead.rank, slice = l->ahead.slice;

		pthread_mutex_unlock(&l->lock);
		k->r = fmt_slice_load(l->trace, rank, slice, l->want, &k->slice, &k->err);
		pthread_mutex_lock(&l->lock);
		k->ready = true;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* Continues without threads that cannot be started. */
static void start_threads(struct fmt_loader *l)
{
	unsigned n = host_n_processors();

	if (n < 2)
		return;
	for (unsigned i = 0; i < n && i < THREADS_MAX; i++)
		if (host_thread_start(&l->threads[l->n_threads], decode_chunks, l) == 0)
			l->n_threads++;
}

int fmt_loader_new(struct fmt_trace *t, const struct fmt_part *part, unsigned want,
		   struct fmt_loader **ret)
{
	struct fmt_part quiet = {.iteration = part->iteration, .rank = part->rank};
	struct fmt_loader *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->trace = t;
	l->want = want;
	l->walk = fmt_walk(t, part);
	l->ahead = fmt_walk(t, &quiet);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	if (has_many(t, part))
		start_threads(l);
	*ret = l;
	return 0;
}

void fmt_loader_free(struct fmt_loader *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->ended = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	for (unsigned i = 0; i < l->n_threads; i++)
		pthread_join(l->threads[i], NULL);
	for (; l->n_returned < l->n_taken; l->n_returned++)
		fmt_slice_free(l->loaded[l->n_returned % AHEAD].slice);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	free(l);
}

/* Returns a slice that a thread decoded to the caller. */
static struct loaded return_slice(struct fmt_loader *l)
{
	struct loaded *k = &l->loaded[l->n_returned % AHEAD], found;

	pthread_mutex_lock(&l->lock);
	while (l->n_taken == l->n_returned || !k->ready)
		pthread_cond_wait(&l->changed, &l->lock);
	found = *k;
	k->slice = NULL;
	l->records -= found.records;
	l->n_returned++;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return found;
}

bool fmt_loader_next(struct fmt_loader *l, struct fmt_walk *w, struct fmt_slice **slice, int *r,
		     struct fmt_error *err)
{
	struct loaded found;

	if (!fmt_walk_next(&l->walk))
		return false;
	*w = l->walk;
	if (l->n_threads == 0) {
		*r = fmt_slice_load(l->trace, w->rank, w->slice, l->want, slice, err);
		return true;
	}
	found = return_slice(l);
	*r = found.r;
	if (found.r == 0)
		*slice = found.slice;
	else if (err)
		*err = found.err;
	return true;
}
