/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/segment.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/infer/infer.h"

#define MOST_THREADS 64

void rec_segment_free(struct rec_segment *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->run.n_ranks; i++) {
		s->run.ranks[i].values = NULL;
		fmt_run_rank_done(&s->run.ranks[i]);
		fmt_rank_data_done(&s->parts[i]);
	}
	free(s->run.ranks);
	if (!s->borrows_values)
		free(s->values);
	free(s->ranks);
	free(s->parts);
	fmt_names_free(s->names);
	free(s);
}

/* ---- from the events of the processes */

static int allocate_ranks(struct rec_segment *s, const struct rec_ranks *ranks)
{
	s->run.ranks = calloc(ranks->n + (size_t)1, sizeof(*s->run.ranks));
	s->ranks = calloc(ranks->n + (size_t)1, sizeof(*s->ranks));
	s->parts = calloc(ranks->n + (size_t)1, sizeof(*s->parts));
	if (!s->run.ranks || !s->ranks || !s->parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < ranks->n; i++) {
		s->run.ranks[i].number = ranks->ranks[i].number;
		s->run.ranks[i].process = rec_shared_process(ranks, i);
		s->run.ranks[i].event_times = 1;
		s->parts[i].first_ns = INT64_MAX;
		s->parts[i].last_ns = INT64_MIN;
	}
	s->run.n_ranks = ranks->n;
	return 0;
}

struct rec_segment *rec_segment_new(const struct rec_ranks *ranks, const struct rec_window *window,
				    struct fmt_names *names)
{
	scoped(rec_segment_freep) struct rec_segment *s = calloc(1, sizeof(*s));

	if (!s || allocate_ranks(s, ranks) < 0)
		return NULL;
	s->run.names = names;
	s->window = window;
	return take(s);
}

bool rec_segment_has(const struct rec_segment *s, const struct rec_ranks *ranks,
		     const struct rec_process *p, const struct rec_event *e)
{
	uint32_t rank = rec_rank_of(ranks, p, e);

	return rank == REC_NONE || rec_launch_time(p, e) < s->ranks[rank].to_ns;
}

/* ---- writing */

/* The ranks of a segment on their way to their files, by several threads. */
struct writing {
	struct rec_segment *segment;
	pthread_mutex_t lock; /* protects the following members */
	uint32_t next;	      /* rank */
	int r;
	struct fmt_error err;
};

/* The progress of a rank, of the calling thread's. */
struct shown {
	const struct rec_progress *progress;
	uint32_t rank, n_ranks;
};

static int show_slice(void *shown, size_t done, size_t total)
{
	const struct shown *s = shown;

	return s->progress->show(s->progress->context, "writing", s->rank * total + done,
				 s->n_ranks * total);
}

static struct fmt_run_source source_of(struct rec_segment *s, uint32_t i)
{
	struct rec_segment_rank *rank = &s->ranks[i];
	struct fmt_run_source source = fmt_rank_data_source(&s->parts[i], rank->reading);

	source.before = rank->has_before ? &rank->before : NULL;
	source.more = !s->is_last;
	return source;
}

/* Numbers the events of ranks that share processes, for edges between them. */
static int number_ranks(struct rec_segment *s)
{
	int r = 0;

	for (uint32_t i = 0; i < s->run.n_ranks && r == 0; i++) {
		struct fmt_run_source source;

		if (!s->run.ranks[i].process || !s->ranks[i].is_written)
			continue;
		source = source_of(s, i);
		r = fmt_run_number(&s->run.ranks[i], &source,
				   fmt_rank_writer_next(s->ranks[i].file));
	}
	return r;
}

static int write_rank(struct rec_segment *s, uint32_t i, bool shows, struct fmt_error *err)
{
	struct rec_segment_rank *rank = &s->ranks[i];
	struct shown shown = {&s->window->progress, i, s->run.n_ranks};
	struct fmt_run_source source = source_of(s, i);

	if (s->window->folder && s->window->first_content >= 0) {
		rank->reading->first_content = s->window->first_content;
		rank->reading->last_content = s->window->last_content;
	}
	if (shows && s->window->progress.show) {
		source.progress = show_slice;
		source.progress_context = &shown;
	}
	return fmt_run_append(s->run.names, &s->run.ranks[i], i, &source, rank->file, err);
}

/* Writes ranks until all are written, or one failed. */
static void write_ranks(struct writing *w, bool shows)
{
	struct rec_segment *s = w->segment;

	for (;;) {
		struct fmt_error err = {0};
		uint32_t i;
		int r;

		pthread_mutex_lock(&w->lock);
		while (w->next < s->run.n_ranks && !s->ranks[w->next].is_written)
			w->next++;
		i = w->r < 0 ? s->run.n_ranks : w->next++;
		pthread_mutex_unlock(&w->lock);
		if (i >= s->run.n_ranks)
			return;
		r = write_rank(s, i, shows, &err);
		if (r == 0)
			continue;
		pthread_mutex_lock(&w->lock);
		w->r = r;
		w->err = err;
		pthread_mutex_unlock(&w->lock);
	}
}

static void *write_others(void *writing)
{
	write_ranks(writing, false);
	return NULL;
}

static int infer_edges(struct rec_segment *s)
{
	if (!s->is_inferred)
		return 0;
	return s->is_first ? fmt_infer(&s->run) : fmt_infer_segment(&s->run);
}

int rec_segment_write(struct rec_segment *s, int n_threads, struct fmt_error *err)
{
	struct writing w = {.segment = s, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[MOST_THREADS];
	int n = 0;

	s->run.names = s->names ? s->names : s->run.names;
	w.r = infer_edges(s);
	if (w.r == 0 && s->is_inferred)
		w.r = number_ranks(s);
	n_threads = n_threads < MOST_THREADS ? n_threads : MOST_THREADS;
	n_threads = n_threads < (int)s->run.n_ranks ? n_threads : (int)s->run.n_ranks;
	while (n + 1 < n_threads && pthread_create(&threads[n], NULL, write_others, &w) == 0)
		n++;
	write_ranks(&w, s->is_first && s->is_last);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	if (w.r < 0 && err)
		*err = w.err;
	return w.r;
}

static void *write_segment(void *segment)
{
	struct rec_segment *s = segment;

	s->r = rec_segment_write(s, s->n_threads, &s->err);
	return NULL;
}

void rec_segment_begin(struct rec_segment *s, int n_threads)
{
	s->n_threads = n_threads;
	s->has_thread = n_threads > 1 && pthread_create(&s->thread, NULL, write_segment, s) == 0;
	if (!s->has_thread)
		write_segment(s);
}

int rec_segment_end(struct rec_segment *s, struct fmt_error *err)
{
	if (s->has_thread)
		pthread_join(s->thread, NULL);
	if (s->r < 0 && err)
		*err = s->err;
	return s->r;
}

void rec_segment_count(const struct rec_segment *s, struct rec_trace_counts *ret)
{
	for (uint32_t i = 0; i < s->run.n_ranks; i++) {
		const struct fmt_run_rank *run = &s->run.ranks[i];

		if (!s->ranks[i].is_written)
			continue;
		ret->ranges += s->parts[i].n_ranges;
		for (size_t k = 0; k < s->parts[i].n_digests; k++)
			ret->digests += !s->parts[i].digests[k].is_content;
		for (size_t k = 0; k < run->n_events; k++) {
			uint8_t kind = fmt_template(s->run.names, run->events[k].template)->kind;

			ret->calls += kind == FMT_CALL;
			ret->ops += FMT_IS_OP(kind);
			ret->collectives += kind == FMT_COLLECTIVE;
		}
	}
}
