/* SPDX-License-Identifier: Apache-2.0 */

/* Records what a program and all that it starts do on GPUs: makes the session folder, takes what
 * is in the rings there to disk, and makes a trace of it.
 *
 *     rec_open(&settings, spool, &r)   rec_folder(r) is what GPUCAPTURE_SESSION is to say
 *     rec_plan(r, window, path)        the trace that is to be made
 *     rec_round(r) again and again while the program runs, every few milliseconds
 *     rec_finish(r)                    when it has ended
 *     rec_write(r, ...)
 *     rec_close(r)
 *
 * A fork of the recorder can make the trace meanwhile, of what the other has taken to disk:
 *
 *     rec_follow_begin(r)
 *     rec_follow(r) again and again, instead of rec_round(r), while the program runs
 *     rec_finish(r)                    when it has ended, and the other has had its last round
 *
 * From rec_open() to rec_finish() the recorder may be one process after the other: each is a fork
 * of the one that opened it, and begins with rec_resume(). One that was killed has lost nothing.
 * When the one that opened it is gone, too, rec_recover() goes on with the spool.
 *
 * One thread at a time. Functions return 0 or a negative errno.
 */
#pragma once

#include "capture/noted.h"
#include "capture/recorder/trace/run.h"

struct rec_recorder;

/* What is read is kept in the file `spool`, which must not exist; err->file is that when it is to
 * blame. The clock of the settings' origin is set here. */
int rec_open(const struct cap_control *settings, const char *spool, struct rec_recorder **ret,
	     struct fmt_error *err);
/* Goes on with what such a recorder left. -EBADMSG: no spool; -ENOTSUP: one of another version, see
 * *err; -EBUSY: its recorder lives. */
int rec_recover(const char *spool, struct rec_recorder **ret, struct fmt_error *err);
void rec_close(struct rec_recorder *r);
/* What rec_recover() needs stays when it is closed. */
void rec_keep(struct rec_recorder *r);

/* The session's folder; its settings. */
const char *rec_folder(const struct rec_recorder *r);
const struct cap_control *rec_settings(const struct rec_recorder *r);

/* Goes on where another process was. */
int rec_resume(struct rec_recorder *r);

/* Takes what is there, if it is time to: how many bytes. When there is no room on disk, nothing is
 * taken any more, and the programs are told not to wait: that is no error here. */
long rec_round(struct rec_recorder *r);

/* Whether one of the processes that were seen still runs. */
bool rec_is_traced(const struct rec_recorder *r);

/* What is to be written, and where: rec_run_write(). `window` but for what it says of itself is
 * copied. */
int rec_plan(struct rec_recorder *r, const struct rec_window *window, const char *path);

/* From now on another process takes what is in the rings. */
void rec_follow_begin(struct rec_recorder *r);
/* Makes processes and events of what was taken to disk since the last time, and writes what there
 * is enough of; nothing where the trace has to be written at once. Returns soon once *is_over,
 * which another thread may set. */
int rec_follow(struct rec_recorder *r, const bool *is_over);
/* The error that ended the taking, or 0; and where the other process has told it. */
int rec_stopped(const struct rec_recorder *r);
void rec_stop(struct rec_recorder *r, int error);

/* Makes them of all that was taken, and of what is left in the rings. */
int rec_finish(struct rec_recorder *r);
/* Whether any of them made a call; what they did and was not read. */
bool rec_has_calls(struct rec_recorder *r);
struct rec_unread rec_unread(const struct rec_recorder *r);
/* The k-th of the programs that they started and that were not seen; false: there are no more. */
bool rec_unjoined(const struct rec_recorder *r, unsigned k, struct cap_start *ret);

/* A child of this process was ended by that signal. */
void rec_child_died(struct rec_recorder *r, int pid, int signal);
/* The k-th process that was killed, once the trace is written; NULL: there are no more. */
const struct rec_process *rec_killed(const struct rec_recorder *r, unsigned k);

/* Gives back the room on disk of what was taken, once it is finished. */
void rec_drop(struct rec_recorder *r);

/* Writes what is not written yet. */
int rec_write(struct rec_recorder *r, struct rec_result *ret, struct fmt_error *err);
