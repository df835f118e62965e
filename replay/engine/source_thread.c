/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/simulate_impl.h"

#include "base/array.h"
#include "base/host.h"
#include "base/scope.h"

#include <pthread.h>

/* A slice to load (without a block), or one to take. */
struct job {
	uint32_t rank;
	struct sim_block *block;
};

struct jobs {
	struct job *job;
	size_t n, cap;
};

/* The next slice of a rank. */
struct loaded {
	enum { NOT_ASKED, ASKED, LOADED } state;
	int r, more;
	struct fmt_slice *slice;
	struct fmt_error err;
};

struct source_thread {
	const struct replay_source *source;
	struct loaded *loaded; /* by rank */
	int threaded;
	pthread_t thread;

	pthread_mutex_t lock; /* protects the following members */
	pthread_cond_t asked, answered;
	struct jobs jobs;  /* not yet begun */
	struct jobs taken; /* blocks not yet returned */
	size_t n_taken;	   /* number of `taken` returned by source_thread_next_done() */
	size_t n_open;	   /* number of blocks that were not taken */
	int ended;
	int error; /* of taken() */
	struct fmt_error err;
};

static int add_job(struct jobs *to, struct job job)
{
	if (array_reserve(&to->job, to->n + 1, &to->cap) < 0)
		return -ENOMEM;
	to->job[to->n++] = job;
	return 0;
}

static int load_slice(const struct source_thread *t, uint32_t rank, struct fmt_slice **ret,
		      int *more, struct fmt_error *err)
{
	return t->source->next(t->source->context, rank, ret, more, err);
}

/* After an error the block keeps its slice. */
static int take_slice(const struct source_thread *t, const struct job *job, struct fmt_error *err)
{
	if (t->error < 0)
		return t->error;
	return t->source->taken(t->source->context, job->rank, take(job->block->owner),
				job->block->times, job->block->variants, err);
}

static void drop_slice(const struct source_thread *t, struct fmt_slice *slice)
{
	if (slice && t->source->dropped)
		t->source->dropped(t->source->context, slice);
}

/* ---- the thread ---- */

/* Runs a job without the lock, which is held on entry and return. */
static void run_job(struct source_thread *t, const struct job *job)
{
	struct loaded *l = &t->loaded[job->rank];
	struct fmt_error err = {0};
	int r;

	if (!job->block) {
		l->r = load_slice(t, job->rank, &l->slice, &l->more, &l->err);
		pthread_mutex_lock(&t->lock);
		l->state = LOADED;
		return;
	}
	r = take_slice(t, job, &err);
	pthread_mutex_lock(&t->lock);
	t->n_open--;
	if (r == 0)
		r = add_job(&t->taken, *job);
	if (r < 0 && t->error == 0) {
		t->error = r;
		t->err = err;
	}
}

static void *run(void *arg)
{
	struct source_thread *t = arg;
	struct jobs mine = {0};

	pthread_mutex_lock(&t->lock);
	for (;;) {
		struct jobs swap = mine;

		while (t->jobs.n == 0 && !t->ended)
			pthread_cond_wait(&t->asked, &t->lock);
		if (t->ended)
			break;
		mine = t->jobs;
		t->jobs = swap;
		for (size_t i = 0; i < mine.n; i++) {
			if (t->ended)
				break;
			pthread_mutex_unlock(&t->lock);
			run_job(t, &mine.job[i]);
			pthread_cond_signal(&t->answered);
		}
		mine.n = 0;
	}
	pthread_mutex_unlock(&t->lock);
	free(mine.job);
	return NULL;
}

static void start_thread(struct source_thread *t)
{
	t->threaded = host_n_processors() > 1 && host_thread_start(&t->thread, run, t) == 0;
}

int source_thread_new(const struct replay_source *source, struct source_thread **ret)
{
	struct source_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->source = source;
	t->loaded = calloc(source->n_ranks + 1ul, sizeof(*t->loaded));
	if (!t->loaded) {
		free(t);
		return -ENOMEM;
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->asked, NULL);
	pthread_cond_init(&t->answered, NULL);
	if (source->wants_thread)
		start_thread(t);
	*ret = t;
	return 0;
}

void source_thread_free(struct source_thread *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->ended = 1;
	pthread_cond_signal(&t->asked);
	pthread_mutex_unlock(&t->lock);
	if (t->threaded)
		pthread_join(t->thread, NULL);
	for (uint32_t i = 0; i < t->source->n_ranks; i++)
		if (t->loaded[i].state == LOADED && t->loaded[i].r == 1)
			drop_slice(t, t->loaded[i].slice);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->asked);
	pthread_cond_destroy(&t->answered);
	free(t->jobs.job);
	free(t->taken.job);
	free(t->loaded);
	free(t);
}

/* ---- the caller ---- */

/* Queues a job; with the lock held. */
static int queue_job(struct source_thread *t, struct job job)
{
	int r = add_job(&t->jobs, job);

	if (r < 0)
		return r;
	if (job.block)
		t->n_open++;
	else
		t->loaded[job.rank].state = ASKED;
	pthread_cond_signal(&t->asked);
	return 0;
}

int source_thread_next(struct source_thread *t, uint32_t rank, struct fmt_slice **ret, int *more,
		       struct fmt_error *err)
{
	struct loaded *l = &t->loaded[rank];
	int r = 0;

	if (!t->threaded)
		return load_slice(t, rank, ret, more, err);
	pthread_mutex_lock(&t->lock);
	if (l->state == NOT_ASKED)
		r = queue_job(t, (struct job){rank, NULL});
	while (r == 0 && l->state == ASKED)
		pthread_cond_wait(&t->answered, &t->lock);
	if (r == 0) {
		r = l->r;
		l->state = NOT_ASKED;
	}
	if (r == 1) {
		*ret = l->slice;
		*more = l->more;
		/* If out of memory, the slice is loaded when needed. */
		queue_job(t, (struct job){rank, NULL});
	} else if (r < 0 && err) {
		*err = l->err;
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

int source_thread_submit(struct source_thread *t, uint32_t rank, struct sim_block *b)
{
	struct job job = {rank, b};
	int r = 0;

	if (t->threaded) {
		pthread_mutex_lock(&t->lock);
		r = queue_job(t, job);
	} else {
		t->n_open++;
		run_job(t, &job);
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

struct sim_block *source_thread_next_done(struct source_thread *t, int wait)
{
	struct sim_block *ret = NULL;

	pthread_mutex_lock(&t->lock);
	while (wait && t->n_taken == t->taken.n && t->n_open > 0)
		pthread_cond_wait(&t->answered, &t->lock);
	if (t->n_taken < t->taken.n)
		ret = t->taken.job[t->n_taken++].block;
	if (t->n_taken == t->taken.n)
		t->n_taken = t->taken.n = 0;
	pthread_mutex_unlock(&t->lock);
	return ret;
}

int source_thread_error(struct source_thread *t, struct fmt_error *err)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = t->error;
	if (r < 0 && err)
		*err = t->err;
	pthread_mutex_unlock(&t->lock);
	return r;
}
