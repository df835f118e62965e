/* SPDX-License-Identifier: Apache-2.0 */

/* Keeps a window of iterations of a rank, and drops what lies outside of it. */
#pragma once

#include "formats/run/gpucapture/calls/processes.h"
#include "formats/run/part.h"

/* How far the making of the trace is; a negative errno ends it. show() may be NULL. */
struct rec_progress {
	int (*show)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

struct rec_window {
	int64_t first, last;		     /* iterations that are kept; -1: all */
	int64_t first_content, last_content; /* those whose contents are kept */
	const char *folder;		     /* where contents lie; NULL: none are kept */
	size_t segment;	       /* calls and operations that are written at once; 0: the default */
	int threads;	       /* that make the trace; 0: one for each core */
	uint32_t digest_level; /* enum cap_digest_level */
	bool untimed;	       /* device times were not recorded, so there are no operations */
	struct rec_unread unread;
	struct rec_endings endings;
	struct rec_progress progress;
};

/* Of the run what begins between these moments, an operation as its call does, and the calls before
 * them that part->keeps. 0 or -ENOMEM. */
int rec_window_keep(struct fmt_run_rank *run, struct fmt_run_part *part, int64_t from_ns,
		    int64_t to_ns);
/* The iterations of a rank that were kept so far. */
struct rec_window_of {
	size_t n;	   /* iterations */
	int64_t last;	   /* the number of the last one */
	bool has_begun;	   /* an earlier segment has some of them */
	uint32_t *skipped; /* owned: by communicator, its collectives before the first iteration */
	size_t n_skipped, skipped_cap;
};

void rec_window_of_done(struct rec_window_of *of);

/* Keeps what is in the window and its prologue, before edges are found: calls by their start,
 * operations by their calls; after the segment there are `more`. A segment before the window is an
 * iteration FMT_BEFORE, if it has some of the prologue; of one after it nothing stays. 0 or
 * -ENOMEM. */
int rec_window_apply(const struct rec_window *w, const struct fmt_names *names,
		     struct fmt_run_rank *run, struct fmt_run_part *part, bool more,
		     struct rec_window_of *of);
