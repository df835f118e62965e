/* SPDX-License-Identifier: Apache-2.0 */

/* A part of the run in memory, which is inferred and written at once. It owns what it is made of,
 * so that the next segment can be read meanwhile. */
#pragma once

#include "formats/run/gpucapture/trace/plan.h"
#include "formats/run/gpucapture/trace/rank_events.h"
#include "formats/run/gpucapture/trace/run.h"

struct rec_segment {
	struct fmt_run run; /* its ranks are owned */
	struct rec_segment_rank {
		struct fmt_run_reading reading;
		struct fmt_iteration before; /* the last iteration of the segment before */
		bool has_before;
		bool is_written;	      /* with this segment */
		struct fmt_rank_writer *file; /* not owned */
	} * ranks;			      /* owned */
	struct fmt_run_part *parts;	      /* owned: by rank */
	struct fmt_names
		*names;	  /* owned copy of the names, used by `run`; NULL: it uses the names */
	uint64_t **pages; /* owned: of the digests of each process */
	size_t n_processes;
	bool is_first, is_last;
	bool is_inferred; /* dependencies are: it has events of the window */
	const struct rec_window *window;
};

void rec_segment_free(struct rec_segment *s);
define_cleanup(rec_segment_freep, struct rec_segment *, rec_segment_free);

/* Makes the segment of the first ends[i] events of each process, but for its iterations. Adds
 * collectives of unknown communicators to result->unmatched. 0 or a negative errno. */
int rec_segment_new(struct rec_process *const *processes, size_t n, const uint32_t *ends,
		    const struct rec_plan *plan, const struct rec_window *window,
		    struct fmt_names *names, struct rec_result *result, struct rec_segment **ret);

/* Uses a copy of the names from now on, and owns all that it is made of. 0 or -ENOMEM. */
int rec_segment_detach(struct rec_segment *s, struct rec_process *const *processes);

/* Infers dependencies and writes the ranks that are to be written, on so many threads at most. 0 or
 * a negative errno. */
int rec_segment_write(struct rec_segment *s, int n_threads, struct fmt_error *err);

/* Adds what was written to the result. */
void rec_segment_count(const struct rec_segment *s, struct rec_result *ret);
