/* SPDX-License-Identifier: Apache-2.0 */

/* Runs the virtual clock over the slices of a source and returns their times.
 *
 * Memory does not grow with the length of a run: each rank keeps only the slices in progress and
 * the times of a few earlier slices. The next slice of a rank is requested when the rank cannot
 * continue without it. */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/names.h"

#include "replay/clock/path.h"
#include "replay/program/program.h"

struct replay_source {
	const struct fmt_names *names;
	uint32_t n_ranks;
	const uint32_t *numbers; /* by rank: the recorder's numbers */
	struct change *change;	 /* the changes in variants of the run; NULL: none */
	enum what_if_overlap overlap;
	const struct copies *copies; /* NULL: as recorded */
	struct path *path;	     /* receives all blocks; NULL: none */
	uint32_t path_runs;	     /* number of runs of the path */
	int wants_thread; /* its functions are slow and may be called by another thread, one at a
			     time */
	void *context;

	/* Returns the rank's next slice in *ret; the source owns it until taken() returns it. Sets
	 * *more if the slice after it belongs to the same iteration. Returns 1; 0 after the last
	 * slice; or a negative errno. */
	int (*next)(void *context, uint32_t rank, struct fmt_slice **ret, int *more,
		    struct fmt_error *err);

	/* Returns a slice without times, after an error. May be NULL. */
	void (*dropped)(void *context, struct fmt_slice *slice);

	/* Returns a slice with its times: event k starts at times[2 k] and ends at times[2 k + 1],
	 * in variant i with variants + i * 2 * slice->n_events instead of times. Slices of a rank
	 * are returned in order. Returns 0 or a negative errno. */
	int (*taken)(void *context, uint32_t rank, struct fmt_slice *slice, const int64_t *times,
		     const int64_t *variants, struct fmt_error *err);
};

struct replay_counts {
	struct sim_counts sim;
	struct program_counts program;
};

/* Returns 0, -ENOMEM, -EBADMSG, or an error of the source. After an error, slices in progress are
 * passed to dropped(). */
int replay_simulate(const struct replay_source *source, struct replay_counts *ret,
		    struct fmt_error *err);
