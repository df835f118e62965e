/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a segment on another thread while the next one is read. Functions are for one thread. */
#pragma once

#include "formats/run/gpucapture/trace/segment.h"

#include <pthread.h>

struct rec_writing {
	int n_threads;		     /* with the caller */
	struct rec_segment *segment; /* owned: that is being written; NULL: none */
	pthread_t thread;
	bool has_thread;
	int r;
	struct fmt_error err;
};

/* `n_threads` 0: one for each core. */
void rec_writing_init(struct rec_writing *w, int n_threads);

/* Begins to write the segment, which is owned from now on; no other one is being written. Without
 * other threads, it is written before this returns. */
void rec_writing_begin(struct rec_writing *w, struct rec_segment *segment);

/* Waits until the segment is written. It is the caller's then; NULL: none was being written. 0 or
 * the error of writing it. */
int rec_writing_end(struct rec_writing *w, struct rec_segment **ret, struct fmt_error *err);
