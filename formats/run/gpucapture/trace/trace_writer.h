/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a trace in segments while a recording is read, so that memory use does not grow with the
 * run: doc/design/recording.md, "Segments". One thread. */
#pragma once

#include "formats/run/gpucapture/trace/segment.h"

#define REC_SEGMENT (1u << 18) /* calls and operations in a segment */

struct rec_trace_writer;

/* `names` contains the names of the processes' templates. `names`, `window` and `plan` must outlive
 * `ret`. */
int rec_trace_writer_new(struct fmt_names *names, const struct rec_window *window,
			 const struct rec_plan *plan, const char *path,
			 struct rec_trace_writer **ret);
/* Leaves the incomplete trace on disk. */
void rec_trace_writer_free(struct rec_trace_writer *m);
define_cleanup(rec_trace_writer_freep, struct rec_trace_writer *, rec_trace_writer_free);

/* Writes a segment if the processes have enough events, and removes the events from the processes.
 * Returns 1, or 0 if there were too few. -EBADMSG: the plan belongs to another recording. After an
 * error, `m` and the processes must only be freed. */
int rec_trace_writer_add(struct rec_trace_writer *m, struct rec_process *const *processes, size_t n,
			 struct fmt_error *err);

/* Writes the remaining events. */
int rec_trace_writer_finish(struct rec_trace_writer *m, struct rec_process *const *processes,
			    size_t n, struct rec_trace_counts *ret, struct fmt_error *err);

/* Writes a whole run as one segment. Without a rank writes nothing, returns 0 and sets ret->n_ranks
 * to 0. */
int rec_run_write(struct rec_process *const *processes, size_t n, struct fmt_names *names,
		  const struct rec_window *window, const char *path, struct rec_trace_counts *ret,
		  struct fmt_error *err);
