/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a trace in segments, while a recording is read, so that memory does not grow with the run:
 * doc/design/recording.md, "Segments". One thread. */
#pragma once

#include "formats/run/gpucapture/trace/segment.h"

#define REC_SEGMENT (1u << 18) /* calls and operations that are written at once */

struct rec_making;

/* `names` is what the processes' templates are called; it, the window and the plan must stay. The
 * steps of the plan are used up. */
int rec_making_new(struct fmt_names *names, const struct rec_window *window,
		   const struct rec_plan *plan, const char *path, struct rec_making **ret);
/* Leaves what there is of the trace. */
void rec_making_free(struct rec_making *m);
define_cleanup(rec_making_freep, struct rec_making *, rec_making_free);

/* Writes a segment, if the processes have enough for one, and they forget it: 1; 0: they have not.
 * -EBADMSG: the plan is of another recording. After an error neither the making nor the processes
 * are good for anything. */
int rec_making_more(struct rec_making *m, struct rec_process *const *processes, size_t n,
		    struct fmt_error *err);

/* Writes what is left. If no iteration is in the window, nothing is written, and ret->n_iterations
 * is 0. */
int rec_making_end(struct rec_making *m, struct rec_process *const *processes, size_t n,
		   struct rec_result *ret, struct fmt_error *err);

/* All of that in one segment. With no rank, or no iteration in the window, there is nothing to
 * write: 0, and ret->n_ranks or ret->n_iterations is 0. */
int rec_run_write(struct rec_process *const *processes, size_t n, struct fmt_names *names,
		  const struct rec_window *window, const char *path, struct rec_result *ret,
		  struct fmt_error *err);
