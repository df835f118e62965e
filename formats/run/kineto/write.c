/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/kineto/write.h"

#include "base/array.h"
#include "base/scope.h"

struct job {
	struct kineto_naming *naming;
	const struct kineto_rank *rank;
	const struct kineto_options *options;
	struct fmt_run_rank *run; /* its values are followed by those of the slice's ranges */
	size_t values_cap;
	struct kineto_spool_reader *reader;
	struct fmt_event pending; /* the next range, when `is_pending` */
	const int64_t *pending_values;
	bool is_pending;
	int64_t *raw; /* values of the slice's ranges, as they are in the spool */
	size_t n_raw, raw_cap;
};

static void job_done(struct job *j)
{
	kineto_spool_reader_free(j->reader);
	free(j->raw);
}

static int count_ranges(void *context, struct fmt_planner *p)
{
	const struct job *j = context;
	const struct kineto_rank *k = j->rank;
	struct kineto_spool_reader *reader;
	const int64_t *values;
	struct fmt_event e;
	int r = kineto_spool_read(kineto_rank_ranges(k), &reader);

	if (r < 0)
		return r;
	while ((r = kineto_spool_next(reader, &e, &values)) > 0)
		if (kineto_rank_has_range(k, &e))
			fmt_planner_add_range(p, e.start_ns + k->base_ns,
					      e.start_ns + k->base_ns + e.duration_ns);
	kineto_spool_reader_free(reader);
	return r;
}

/* Appends the pending range, its values as they are in the spool. */
static int take_range(struct job *j, struct fmt_run_slice *made)
{
	struct fmt_slice *s = &made->slice;
	uint32_t n = j->naming->templates->templates[j->pending.template].n_varying;

	if (array_reserve(&s->ranges, s->n_ranges + 1, &made->ranges_cap) < 0 ||
	    array_reserve(&j->raw, j->n_raw + n, &j->raw_cap) < 0)
		return -ENOMEM;
	if (j->n_raw + n > UINT32_MAX)
		return -EOVERFLOW;
	if (n > 0)
		memcpy(j->raw + j->n_raw, j->pending_values, n * sizeof(*j->raw));
	j->pending.first_value = (uint32_t)j->n_raw;
	j->pending.start_ns += j->rank->base_ns;
	j->pending.track = j->rank->track_of[j->pending.track];
	j->n_raw += n;
	s->ranges[s->n_ranges++] = j->pending;
	j->is_pending = false;
	return 0;
}

/* The next range, if none is pending. */
static int read_pending(struct job *j)
{
	int r = 1;

	while (!j->is_pending && r > 0) {
		r = kineto_spool_next(j->reader, &j->pending, &j->pending_values);
		j->is_pending = r > 0 && kineto_rank_has_range(j->rank, &j->pending);
	}
	return r < 0 ? r : 0;
}

/* Ranges that start before `end_ns`, sorted and named. */
static int take_ranges(void *context, struct fmt_run_slice *made, int64_t end_ns, bool last)
{
	struct job *j = context;
	struct fmt_slice *s = &made->slice;
	int64_t base_ns = j->rank->base_ns;
	int r;

	j->n_raw = 0;
	for (;;) {
		r = read_pending(j);
		if (r < 0)
			return r;
		if (!j->is_pending || (!last && j->pending.start_ns + base_ns >= end_ns))
			break;
		r = take_range(j, made);
		if (r < 0)
			return r;
	}
	kineto_sort_ranges(s->ranges, s->n_ranges, j->raw, j->naming->templates);
	for (size_t i = 0; i < s->n_ranges; i++) {
		r = kineto_name_event(j->naming, &s->ranges[i],
				      j->raw ? j->raw + s->ranges[i].first_value : NULL,
				      &j->run->values, &s->n_values, &j->values_cap);
		if (r < 0)
			return r;
	}
	s->values = j->run->values;
	return 0;
}

static int progress(void *context, size_t done, size_t total)
{
	const struct kineto_options *o = ((const struct job *)context)->options;

	return o->progress ? o->progress(o->context, "writing", done, total) : 0;
}

static struct fmt_run_source source_of(struct job *j)
{
	return (struct fmt_run_source){
		.context = j,
		.call_of = j->rank->call_of,
		.first_ns = j->rank->first_ns,
		.last_ns = j->rank->last_ns,
		.count_ranges = count_ranges,
		.take_ranges = take_ranges,
		.progress = progress,
		.progress_context = j,
	};
}

int kineto_number_rank(const struct kineto_rank *rank, struct fmt_run_rank *run)
{
	struct job j = {.rank = rank};
	const struct fmt_run_source source = source_of(&j);

	return fmt_run_number(run, &source, 0);
}

int kineto_write_rank(struct kineto_naming *t, const struct kineto_rank *rank,
		      const struct kineto_options *options, struct fmt_run_rank *run,
		      uint32_t index, struct fmt_writer *writer, struct fmt_error *err)
{
	scoped(job_done) struct job j = {.naming = t,
					 .rank = rank,
					 .options = options,
					 .run = run,
					 .values_cap = run->n_values};
	const struct fmt_run_source source = source_of(&j);
	int r = kineto_spool_read(kineto_rank_ranges(rank), &j.reader);

	return r < 0 ? r : fmt_run_write(t->names, run, index, &source, writer, err);
}
