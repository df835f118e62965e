/* SPDX-License-Identifier: Apache-2.0 */

/* Keeps a window of iterations of a rank, and drops what lies outside of it. */
#pragma once

#include "formats/run/part.h"

/* What was left out while the programs ran. */
struct rec_unread {
	uint64_t no_ring_calls; /* of threads that got no ring */
	int no_ring_error;	/* why: errno */
	uint64_t forked_calls;	/* of forked children that went on with their parent's CUDA */
	uint64_t contents;	/* that there was no room for in the session folder */
	uint32_t processes;	/* that have loaded the library */
	uint32_t running;	/* of those with rings: they go on unrecorded */
	uint32_t killed;	/* of those with rings: they ended without saying so, or aborted */
	int stopped;		/* errno of the disk that had no room for what was read; 0 */
};

/* How far the making of the trace is; a negative errno ends it. show() may be NULL. */
struct rec_progress {
	int (*show)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

struct rec_window {
	int64_t first, last;		     /* iterations that are kept; -1: all */
	int64_t first_content, last_content; /* those whose contents are kept */
	const char *folder;		     /* where contents lie; NULL: none are kept */
	size_t stretch;	  /* calls and operations that are written at once (making.h); 0: many */
	bool steps;	  /* all that lives was to be digested at each begin */
	bool collectives; /* what these read and write was to be digested */
	bool untimed;	  /* nobody asked when operations ran: there are none */
	struct rec_unread unread;
	/* Where the trace finds no room on disk: removes what there is of it, and whatever else can
	 * go. 0, and it is written once more; may be NULL. */
	int (*make_room)(void *context);
	void *room;
	struct rec_progress progress;
};

/* Of the run what begins between these moments, an operation as its call does. 0 or -ENOMEM. */
int rec_window_keep(struct fmt_run_rank *run, struct fmt_run_part *part, int64_t from_ns,
		    int64_t to_ns);
/* The run's events, values stay where they are; before edges are found. Calls by their start,
 * operations by their calls. 0 or -ENOMEM. */
int rec_window_apply(const struct rec_window *w, struct fmt_run_rank *run,
		     struct fmt_run_part *part);

/* What was kept of a rank of a run that is written a stretch at a time. */
struct rec_window_of {
	size_t n;	   /* iterations */
	int64_t last;	   /* the number of the last one */
	uint32_t *skipped; /* owned: by communicator, its collectives before the first iteration */
	size_t n_skipped, skipped_cap;
};

void rec_window_of_done(struct rec_window_of *of);

/* The same of a stretch, after which there are `more`: where it has no iteration of the window,
 * nothing of it stays. 0 or -ENOMEM. */
int rec_window_apply_more(const struct rec_window *w, const struct fmt_names *names,
			  struct fmt_run_rank *run, struct fmt_run_part *part, bool more,
			  struct rec_window_of *of);
