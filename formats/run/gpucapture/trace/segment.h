/* SPDX-License-Identifier: Apache-2.0 */

/* A part of the run in memory, for which dependencies are inferred and which is written at once. It
 * owns its data, so the next segment can be read at the same time. */
#pragma once

#include "formats/run/gpucapture/calls/processes.h"
#include "formats/run/gpucapture/trace/contents.h"
#include "formats/run/gpucapture/trace/plan.h"
#include "formats/trace/store/writer.h"

#include <pthread.h>

/* Progress of an import. show() may be NULL; if it returns a negative errno, the import ends with
 * it. */
struct rec_progress {
	int (*show)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

/* The part of a run that is written to the trace. */
struct rec_window {
	int64_t first, last;		     /* iterations to keep; -1: all */
	int64_t first_content, last_content; /* iterations whose contents are kept */
	const char *folder;		     /* folder of the contents; NULL: no contents */
	size_t segment;			     /* calls and operations in a segment; 0: the default */
	int threads;			     /* 0: one for each core */
	uint32_t digest_level;		     /* enum cap_digest_level */
	bool untimed;			     /* without device times, so there are no operations */
	struct rec_unrecorded unread;
	struct rec_end_counts endings;
	struct rec_progress progress;
};

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

/* The number of collectives of a rank before the window, by communicator. */
struct rec_skipped {
	uint32_t *counts; /* owned */
	size_t n, cap;
};

struct rec_segment_rank {
	int64_t to_ns; /* events before this time are in the segment: calls by their start,
			  operations by that of their calls */
	int64_t first_ns, last_ns; /* kept: events from first_ns to last_ns, and earlier calls that
				      the prologue needs */
	struct rec_skipped *skipped;	      /* not owned: counts collectives before first_ns */
	struct fmt_rank_data_reader *reading; /* not owned */
	struct fmt_iteration before;	      /* the iteration before the first one */
	bool has_before;
	bool is_written;	      /* by this segment */
	struct fmt_rank_writer *file; /* not owned */
};

struct rec_segment {
	struct fmt_run run;  /* its ranks are owned */
	int64_t *values;     /* of the events of all ranks; owned unless `borrows_values` */
	bool borrows_values; /* of the only process */
	struct rec_segment_rank *ranks; /* owned */
	struct fmt_rank_data *parts;	/* owned: by rank */
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

/* Makes an empty segment. Returns NULL if out of memory. */
struct rec_segment *rec_segment_new(const struct rec_ranks *ranks, const struct rec_window *window,
				    struct fmt_names *names);
void rec_segment_free(struct rec_segment *s);
define_cleanup(rec_segment_freep, struct rec_segment *, rec_segment_free);

/* Returns true if the event, one of the segment's processes, is in the segment, kept or not. */
bool rec_segment_has(const struct rec_segment *s, const struct rec_ranks *ranks,
		     const struct rec_process *p, const struct rec_event *e);

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
