/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/writing.h"

#include <sched.h>

void rec_writing_init(struct rec_writing *w, int n_threads)
{
	cpu_set_t set;
	int n_cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	*w = (struct rec_writing){.n_threads = n_threads ? n_threads : n_cores};
}

static void *write_segment(void *writing)
{
	struct rec_writing *w = writing;

	w->r = rec_segment_write(w->segment, w->n_threads - 1, &w->err);
	return NULL;
}

void rec_writing_begin(struct rec_writing *w, struct rec_segment *segment)
{
	w->segment = segment;
	w->has_thread = w->n_threads > 1 && pthread_create(&w->thread, NULL, write_segment, w) == 0;
	if (!w->has_thread)
		w->r = rec_segment_write(segment, 1, &w->err);
}

int rec_writing_end(struct rec_writing *w, struct rec_segment **ret, struct fmt_error *err)
{
	if (w->has_thread)
		pthread_join(w->thread, NULL);
	w->has_thread = false;
	*ret = take(w->segment);
	if (!*ret)
		return 0;
	if (w->r < 0 && err)
		*err = w->err;
	return w->r;
}
