/* SPDX-License-Identifier: Apache-2.0 */

/* Records what a program and all that it starts do on GPUs: creates the session folder, and copies
 * what is in the rings there to a raw recording (formats/raw/raw.h).
 *
 *     rec_open(&settings, path, &r)   rec_folder(r) becomes GPUCAPTURE_SESSION of the program
 *     rec_round(r)                    every few milliseconds while the program runs
 *     rec_finish(r)                   when it has ended
 *     rec_close(r)
 *
 * From rec_open() to rec_finish() the recorder may be one process after the other: each is a fork
 * of the one that opened it, and begins with rec_resume(). A recorder that was killed has lost
 * nothing. If the process that opened it is gone as well, rec_recover() continues the recording.
 *
 * One thread at a time. Functions return 0 or a negative errno.
 */
#pragma once

#include "capture/noted.h"
#include "formats/raw/raw.h"

struct rec_recorder;

/* Creates the raw recording `path`, which must not exist; err->file is that if it is to blame. The
 * clock of the settings' origin is set here. */
int rec_open(const struct cap_control *settings, const char *path, struct rec_recorder **ret,
	     struct fmt_error *err);
/* Continues a recording whose recorder was killed. -ENOENT: its session is gone, as on another
 * machine, so there is nothing to add; -EBADMSG: not a raw recording; -ENOTSUP: of another version;
 * -EBUSY: its recorder lives. */
int rec_recover(const char *path, struct rec_recorder **ret, struct fmt_error *err);
/* Removes the session. */
void rec_close(struct rec_recorder *r);
/* rec_close() leaves the session, for rec_recover(). */
void rec_keep(struct rec_recorder *r);

/* The session's folder. */
const char *rec_folder(const struct rec_recorder *r);

/* Continues where another process was. */
int rec_resume(struct rec_recorder *r);

/* Copies what is in the rings, if enough is there or enough time has passed: how many bytes. If the
 * disk is full, nothing is copied any more, and programs do not wait: no error here. */
long rec_round(struct rec_recorder *r);

/* Counts a process as traced from now on, although it may not have a ring yet: a shell that starts
 * the programs to record, for example. */
int rec_watch(struct rec_recorder *r, int pid);
/* Whether a process that has a ring, or was given to rec_watch(), still runs. */
bool rec_is_traced(const struct rec_recorder *r);

/* A child of this process was ended by that signal. */
void rec_child_died(struct rec_recorder *r, int pid, int signal);

/* Copies what is left in the rings and in the session folder, and says how processes ended. The
 * recording says itself if something found no space on disk: no error here. */
int rec_finish(struct rec_recorder *r);
struct rec_unread rec_unread(const struct rec_recorder *r);
/* The k-th of the programs that were started and did not join the session; false: no more. */
bool rec_unjoined(const struct rec_recorder *r, unsigned k, struct cap_start *ret);
