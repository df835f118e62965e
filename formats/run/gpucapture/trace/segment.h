/* SPDX-License-Identifier: Apache-2.0 */

/* A part of the run in memory, for which dependencies are inferred and which is written at once. It
 * owns its data, so the next segment can be read at the same time. */
#pragma once

#include "formats/run/gpucapture/trace/contents.h"
#include "formats/run/gpucapture/trace/plan.h"
#include "formats/run/gpucapture/trace/rank_events.h"
#include "formats/run/gpucapture/trace/window.h"
#include "formats/trace/store/writer.h"

#include <pthread.h>

/* Counts of events that are in the trace, and of missing events. */
struct rec_trace_counts {
	uint64_t lost_records; /* without space in a ring */
	uint32_t n_ranks, n_processes, n_iterations;
	uint64_t calls, ops, collectives, ranges, digests;
	uint64_t without_times; /* operations left out because their times are missing */
	struct rec_contents_result contents;
	uint64_t undigested;		 /* iterations without digests under --digest=step */
	uint64_t undigested_collectives; /* collectives within graph launches, without digests */
	uint64_t unmatched;		 /* collectives of unknown communicators */
};

struct rec_segment {
	struct fmt_run run;  /* its ranks are owned */
	int64_t *values;     /* of the events of all ranks; owned unless `borrows_values` */
	bool borrows_values; /* of the only process */
	struct rec_segment_rank {
		struct fmt_run_part_reader *reading; /* not owned */
		struct fmt_iteration before;	     /* the last iteration of the segment before */
		bool has_before;
		bool is_written;	      /* by this segment */
		struct fmt_rank_writer *file; /* not owned */
	} * ranks;			      /* owned */
	struct fmt_run_part *parts;	      /* owned: by rank */
	struct fmt_names *names; /* owned copy of the names, used by `run`; NULL: `run` uses the
				    shared names */
	bool is_first, is_last;
	bool is_inferred; /* dependencies are inferred: it has events of the window */
	const struct rec_window *window;

	/* Set while another thread writes the segment. */
	pthread_t thread;
	bool has_thread;
	int n_threads, r;
	struct fmt_error err;
};

void rec_segment_free(struct rec_segment *s);
define_cleanup(rec_segment_freep, struct rec_segment *, rec_segment_free);

/* Makes the segment of the first ends[i] events of each process, without its iterations. Adds
 * collectives of unknown communicators to result->unmatched. Returns 0 or a negative errno. */
int rec_segment_new(struct rec_process *const *processes, size_t n, const uint32_t *ends,
		    const struct rec_plan *plan, const struct rec_window *window,
		    struct fmt_names *names, struct rec_trace_counts *result,
		    struct rec_segment **ret);

/* Infers dependencies and writes the marked ranks, on at most `n_threads` threads. Returns 0 or a
 * negative errno. */
int rec_segment_write(struct rec_segment *s, int n_threads, struct fmt_error *err);

/* Starts rec_segment_write() on another thread; rec_segment_end() waits for its result. `n_threads`
 * includes the caller; with 1, the segment is written in rec_segment_begin(). Uses the segment's
 * copy of the names. */
void rec_segment_begin(struct rec_segment *s, int n_threads);
int rec_segment_end(struct rec_segment *s, struct fmt_error *err);

/* Adds the counts of the segment to the result. */
void rec_segment_count(const struct rec_segment *s, struct rec_trace_counts *ret);
