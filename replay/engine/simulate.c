/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/engine/simulate.h"

#include "replay/clock/last_arrival.h"
#include "replay/engine/simulate_impl.h"

#include "base/scope.h"

/* Maximum number of slices that a rank may load ahead when all ranks wait for later slices. */
#define MOST_AHEAD 4

struct simulation {
	const struct replay_source *source;
	struct sim *sim;
	struct program *program;
	struct source_thread *thread;
	struct fmt_error *err;
};

static void drop_slices(const struct simulation *f, struct fmt_slice *slice)
{
	if (f->source->dropped)
		f->source->dropped(f->source->context, slice);
}

static void simulation_done(struct simulation *f)
{
	struct fmt_slice *slice;

	source_thread_free(f->thread);
	while (f->sim && (slice = sim_next_abandoned(f->sim)))
		drop_slices(f, slice);
	program_free(f->program);
	sim_free(f->sim);
}

/* Loads the next slice of the rank: 1, or 0 after the last. */
static int load_slice(struct simulation *f, uint32_t rank)
{
	struct fmt_slice *slice;
	struct sim_block *block;
	int more = 0;
	int r = source_thread_next(f->thread, rank, &slice, &more, f->err);

	if (r == 0)
		sim_end_rank(f->sim, rank);
	if (r <= 0)
		return r;
	r = program_compile_slice(f->program, rank, slice, more, &block, f->err);
	if (r < 0) {
		drop_slices(f, slice);
		return r;
	}
	block->owner = slice;
	r = sim_push(f->sim, rank, block);
	return r < 0 ? r : 1;
}

/* Releases the blocks whose slices were taken; with `wait`, all finished blocks. */
static int release_taken(struct simulation *f, int wait)
{
	struct sim_block *b;

	while ((b = source_thread_next_done(f->thread, wait)))
		sim_release(f->sim, b);
	return source_thread_error(f->thread, f->err);
}

static int take_finished(struct simulation *f)
{
	struct sim_block *b;
	uint32_t rank;

	while ((b = sim_next_finished(f->sim, &rank))) {
		int r = f->source->path ? path_add_block(f->source->path, f->sim, rank, b->owner, b)
					: 0;

		sim_release_program(f->sim, b);
		if (r == 0)
			r = source_thread_submit(f->thread, rank, b);
		if (r < 0)
			return r;
	}
	return release_taken(f, 0);
}

/* All ranks wait, perhaps for events in later slices. Returns the number of ranks that got a
 * slice. */
static int look_ahead(struct simulation *f)
{
	int given = 0;

	for (uint32_t i = 0; i < f->source->n_ranks; i++) {
		int r;

		if (sim_ended(f->sim, i) || sim_unfinished(f->sim, i) >= MOST_AHEAD)
			continue;
		r = load_slice(f, i);
		if (r < 0)
			return r;
		given++;
	}
	return given;
}

/* Returns 1 while there is work left. */
static int simulate_step(struct simulation *f)
{
	uint32_t rank;
	int r = sim_advance(f->sim);

	if (r == 0)
		r = take_finished(f);
	if (r < 0)
		return r;
	rank = sim_next_idle(f->sim);
	if (rank != SIM_NONE) {
		r = load_slice(f, rank);
		return r < 0 ? r : 1;
	}
	r = look_ahead(f);
	return r != 0 ? r : sim_break_deadlock(f->sim);
}

int replay_simulate(const struct replay_source *source, struct replay_counts *ret,
		    struct fmt_error *err)
{
	scoped(simulation_done) struct simulation f = {.source = source, .err = err};
	int r = sim_new(source->n_ranks, &f.sim);

	if (r == 0)
		r = source_thread_new(source, &f.thread);
	if (r == 0 && source->path)
		r = sim_record_causes(f.sim, source->path_runs);
	if (r == 0)
		r = program_new(source->names, source->numbers, source->n_ranks, f.sim,
				source->change, source->overlap, source->copies, &f.program);
	if (r < 0)
		return r;
	do
		r = simulate_step(&f);
	while (r > 0);
	if (r == 0)
		r = release_taken(&f, 1);
	if (r == 0 && source->path)
		r = path_follow(source->path);
	ret->sim = *sim_counts(f.sim);
	ret->program = *program_counts(f.program);
	return r;
}
