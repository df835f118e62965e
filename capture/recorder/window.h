/* SPDX-License-Identifier: Apache-2.0 */

/* Keeps a window of iterations of a rank, and drops what lies outside of it. */
#pragma once

#include "capture/recorder/part.h"

struct rec_window {
	int64_t first, last;		     /* iterations that are kept; -1: all */
	int64_t first_content, last_content; /* those whose contents are kept */
	const char *folder;		     /* where contents lie; NULL: none are kept */
	bool steps;			     /* all that lives was to be digested at each begin */
	uint64_t unwritten;		     /* contents that there was no room for in there */
};

/* The run's events, values stay where they are; before edges are found. Calls by their start,
 * operations by their calls. 0 or -ENOMEM. */
int rec_window_apply(const struct rec_window *w, struct fmt_run_rank *run, struct rec_part *part);
