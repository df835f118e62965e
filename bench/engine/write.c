/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a made-up run (made_run.h) as a trace whose recorded times are the emulated ones:
 *
 *     bench_engine_write OPERATIONS GPUS ITERATIONS OUT
 *
 * for measuring `gpureplay --emulate`, which reads a trace and reports, beside the engine alone. */
#include "bench/engine/made_run.h"

#include "formats/trace/store/writer.h"

#include <stdio.h>
#include <stdlib.h>

struct writing {
	const struct replay_source *made;
	struct fmt_rank_writer **ranks;
};

static int next(void *context, uint32_t rank, struct fmt_slice **ret, int *more,
		struct fmt_error *err)
{
	const struct writing *w = context;

	return w->made->next(w->made->context, rank, ret, more, err);
}

static int taken(void *context, uint32_t rank, struct fmt_slice *slice, const int64_t *times,
		 const int64_t *variants, struct fmt_error *err)
{
	const struct writing *w = context;
	struct fmt_event *first = &slice->events[0], *last = first;
	int r;

	for (size_t i = 0; i < slice->n_events; i++) {
		slice->events[i].start_ns = times[2 * i];
		slice->events[i].duration_ns = times[2 * i + 1] - times[2 * i];
		last = slice->events[i].track == first->track ? &slice->events[i] : last;
	}
	slice->iteration.start_ns = first->start_ns;
	slice->iteration.duration_ns = last->start_ns + last->duration_ns - first->start_ns;
	r = fmt_rank_writer_slice(w->ranks[rank], slice, err);
	return r < 0 ? r : w->made->taken(w->made->context, rank, slice, times, variants, err);
}

static int write_run(struct made_run *run, struct fmt_names *names, const char *path,
		     struct fmt_error *err)
{
	struct writing w = {.made = made_run_source(run)};
	struct replay_source source = *w.made;
	struct replay_counts counts;
	struct fmt_writer *writer;
	int r = fmt_writer_open(path, names, 0, &writer, err);

	w.ranks = calloc(source.n_ranks, sizeof(struct fmt_rank_writer *));
	for (uint32_t i = 0; r == 0 && i < source.n_ranks; i++)
		r = fmt_writer_rank(writer, i, i, &w.ranks[i], err);
	source.context = &w;
	source.next = next;
	source.taken = taken;
	if (r == 0)
		r = replay_simulate(&source, &counts, err);
	if (r == 0)
		r = fmt_writer_close(writer, err);
	free(w.ranks);
	return r;
}

int main(int argc, char **argv)
{
	struct made_run_options o = {.layers = 16};
	struct fmt_error err = {.what = "out of memory"};
	struct made_run *run;

	if (argc == 5) {
		o.gpus = (uint32_t)atoi(argv[2]);
		o.iterations = (uint64_t)atoi(argv[3]);
	}
	if (o.gpus == 0 || o.iterations == 0) {
		fprintf(stderr, "usage: bench_engine_write OPERATIONS GPUS ITERATIONS OUT\n");
		return 2;
	}
	o.kernels = (uint32_t)(strtoull(argv[1], NULL, 10) / (o.gpus * o.iterations * o.layers));
	o.kernels -= o.kernels > 1;
	o.exposed = 1;
	if (made_run_new(&o, &run) < 0 ||
	    write_run(run, (struct fmt_names *)made_run_source(run)->names, argv[4], &err) < 0) {
		fprintf(stderr, "bench_engine_write: %s: %s\n", argv[4], err.what);
		return 3;
	}
	made_run_free(run);
	return 0;
}
