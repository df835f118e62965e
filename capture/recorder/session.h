/* SPDX-License-Identifier: Apache-2.0 */

/* The folder that traced programs and their recorder share (formats/raw/ring.h), on the recorder's
 * side. The recorder holds a lock on the control page for as long as it lives; a folder whose page
 * nobody has locked was left by one that was killed, and is removed by the next, but not while
 * the raw recording exists that it was bound to: another recorder can continue that.
 *
 * One thread. Functions return 0 or a count, or a negative errno.
 */
#pragma once

#include "formats/raw/raw.h"

#include <limits.h>
#include <stddef.h>

struct rec_session {
	char folder[PATH_MAX]; /* "" when there is none */
	struct cap_control *control;
	int lock_fd, dir_fd;
	uint8_t *known; /* rings that were taken, by number */
	size_t known_cap;
	uint32_t n_known;
};

/* Without a folder; rec_session_end() may follow. */
void rec_session_init(struct rec_session *s);

/* Makes the folder on the first memory file system that has room, and removes what others left
 * behind there. `settings` is copied into the control page, but for what the session itself sets:
 * magic, version, recorder_pid, heartbeat. */
int rec_session_begin(struct rec_session *s, const struct cap_control *settings);
/* The same in the folder `base`, for one that was initialised. -ENAMETOOLONG: programs could not be
 * told. */
int rec_session_begin_at(struct rec_session *s, const char *base,
			 const struct cap_control *settings);

/* What is read of it goes into the file `recording`, which is there. */
int rec_session_bind(struct rec_session *s, const char *recording);

/* Takes over the folder of a recorder that was killed, when the last of its processes is gone.
 * -ENOENT: the folder is gone; -EBUSY: the recorder lives. */
int rec_session_attach(struct rec_session *s, const char *folder);

/* Says that the recorder lives; call it every 200 ms at least. */
void rec_session_beat(struct rec_session *s);

/* Says to programs that nobody reads any more. */
void rec_session_quit(struct rec_session *s);

/* Calls take(context, folder, name, number) for each ring that is not known; it is from then on
 * when that returns 0, and is offered again after -EAGAIN. Another error ends the scan and is
 * returned. */
int rec_session_rings(struct rec_session *s,
		      int (*take)(void *context, int dir, const char *name, uint32_t number),
		      void *context);

/* Removes the ring of that process and number. */
void rec_session_remove(struct rec_session *s, int pid, uint32_t number);

/* Removes a folder of the recorder's own, a session's or what there is of a trace: the files in it,
 * and then itself. */
void rec_remove_folder(const char *folder);

/* Says to programs that still run that nobody reads any more, and removes the folder. */
void rec_session_end(struct rec_session *s);
/* The same, but the folder stays, for rec_session_attach(). */
void rec_session_leave(struct rec_session *s);
