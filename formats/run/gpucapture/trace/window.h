/* SPDX-License-Identifier: Apache-2.0 */

/* Keeps a window of iterations of a rank and drops events outside of it. */
#pragma once

#include "formats/run/gpucapture/calls/processes.h"
#include "formats/run/part.h"

/* Progress of an import. show() may be NULL; if it returns a negative errno, the import ends with
 * it. */
struct rec_progress {
	int (*show)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

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

/* Keeps events that begin between these times, and the earlier calls that part->keeps marks. An
 * operation is kept if its call is. Returns 0 or -ENOMEM. */
int rec_window_filter(struct fmt_run_rank *run, struct fmt_run_part *part, int64_t from_ns,
		      int64_t to_ns);
/* The iterations of a rank that were kept so far. */
struct rec_window_state {
	size_t n;	   /* iterations */
	int64_t last;	   /* number of the last iteration */
	bool has_begun;	   /* an earlier segment contains some of them */
	uint32_t *skipped; /* owned: by communicator, the number of its collectives before the first
			      iteration */
	size_t n_skipped, skipped_cap;
};

void rec_window_state_done(struct rec_window_state *of);

/* Keeps the window and its prologue, before edges are found: calls by their start, operations by
 * their calls. `more`: this is not the last segment. A segment before the window becomes the
 * iteration FMT_BEFORE if it has some of the prologue; a segment after the window becomes empty.
 * Returns 0 or -ENOMEM. */
int rec_window_apply(const struct rec_window *w, const struct fmt_names *names,
		     struct fmt_run_rank *run, struct fmt_run_part *part, bool more,
		     struct rec_window_state *of);
