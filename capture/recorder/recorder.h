/* SPDX-License-Identifier: Apache-2.0 */

/* Records what a program and its child processes do on GPUs: creates the session folder, and copies
 * the contents of the rings there to a raw recording (formats/raw/raw.h).
 *
 *     rec_recorder_open(&settings, path, &r)   program: GPUCAPTURE_SESSION=rec_recorder_folder(r)
 *     rec_recorder_poll(r)                     every few milliseconds while the program runs
 *     rec_recorder_finish(r)                   when it has ended
 *     rec_recorder_close(r)
 *
 * Between rec_recorder_open() and rec_recorder_finish(), a fork of the process that called
 * rec_recorder_open() can take over, by rec_recorder_resume(). No data is lost if a recorder is
 * killed. If the process that called rec_recorder_open() was killed, too, rec_recorder_recover()
 * continues the recording.
 *
 * One thread at a time. Functions return 0 or a negative errno. */
#pragma once

#include "capture/process_notes.h"
#include "formats/raw/raw.h"

struct rec_recorder;

/* Creates the raw recording `path`, which must not exist; err->file is set if it caused the error.
 * Sets the clock of the settings' origin. */
int rec_recorder_open(const struct cap_control *settings, const char *path,
		      struct rec_recorder **ret, struct fmt_error *err);
/* Continues a recording whose recorder was killed. -ENOENT: its session no longer exists, for
 * example on another machine, so there is nothing to add; -EBADMSG: not a raw recording; -ENOTSUP:
 * of another version; -EBUSY: its recorder is running. */
int rec_recorder_recover(const char *path, struct rec_recorder **ret, struct fmt_error *err);
/* Removes the session. */
void rec_recorder_close(struct rec_recorder *r);
/* Makes rec_recorder_close() keep the session, for rec_recorder_recover(). */
void rec_recorder_keep_session(struct rec_recorder *r);

/* Returns the session's folder. */
const char *rec_recorder_folder(const struct rec_recorder *r);

/* Continues after another process. */
int rec_recorder_resume(struct rec_recorder *r);

/* Copies the contents of the rings, if they are large enough or enough time has passed. Returns the
 * number of bytes. If the disk is full, stops copying, and programs do not wait; this is not an
 * error. */
long rec_recorder_poll(struct rec_recorder *r);

/* From now on, counts the process as traced although it may not have a ring yet: for example a
 * shell that starts the programs to record. */
int rec_recorder_watch(struct rec_recorder *r, int pid);
/* Returns true if a process with a ring, or one passed to rec_recorder_watch(), is still running.
 */
bool rec_recorder_has_processes(const struct rec_recorder *r);

/* Call after a child of this process was killed by a signal. */
void rec_recorder_child_killed(struct rec_recorder *r, int pid, int signal);

/* Copies the remaining contents of the rings and of the session folder, and records how processes
 * ended. Data that did not fit on disk is noted in the recording; this is not an error. */
int rec_recorder_finish(struct rec_recorder *r);
struct rec_unrecorded rec_recorder_unrecorded(const struct rec_recorder *r);
/* Returns the k-th program that was started and did not join the session; false: no more. */
bool rec_recorder_unjoined(const struct rec_recorder *r, unsigned k, struct cap_started *ret);
