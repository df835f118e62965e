/* SPDX-License-Identifier: Apache-2.0 */

/* Makes a trace a stretch at a time, while the run goes on, so that neither memory nor what is left
 * to do at its end grows with the run: doc/design/recording.md, "A stretch at a time". A run that
 * is over before there was a stretch is written at once, as run.h does. One thread.
 */
#pragma once

#include "capture/recorder/trace/run.h"

struct rec_making;

/* `names` is what the processes' templates are called; `window` is kept, too. */
int rec_making_new(struct fmt_names *names, const struct rec_window *window, const char *path,
		   struct rec_making **ret);
/* Leaves what there is of the trace. */
void rec_making_free(struct rec_making *m);
define_cleanup(rec_making_freep, struct rec_making *, rec_making_free);

/* Writes a stretch, if the processes have enough for one, and they forget it: 1; 0: they have not.
 * A rank may begin in any of them.
 *
 *   -EAGAIN   two ranks turn out to be one, or communicators or iterations are not what they seemed
 *             to be: the making is to begin anew, with a first stretch that does not end before
 *             this moment
 *   -ENOTSUP  only the whole run tells what is to be written
 *
 * After an error neither the making nor the processes are good for anything.
 */
int rec_making_more(struct rec_making *m, struct rec_process *const *processes, size_t n,
		    struct fmt_error *err);

/* Removes it. */
void rec_making_drop(struct rec_making *m);

/* Whether a stretch was written. */
bool rec_making_has_begun(const struct rec_making *m);

/* Writes what is left, as rec_run_write(), or fails as rec_making_more(). */
int rec_making_end(struct rec_making *m, struct rec_process *const *processes, size_t n,
		   struct rec_result *ret, struct fmt_error *err);
