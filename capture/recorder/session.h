/* SPDX-License-Identifier: Apache-2.0 */

/* The folder that traced programs and their recorder share (formats/raw/ring.h), on the recorder's
 * side. A running recorder holds a lock on the control page. A folder without a lock belonged to a
 * killed recorder. The next recorder removes it, unless the raw recording that it is bound to
 * exists: then the recording can be continued.
 *
 * One thread. Functions return 0 or a count, or a negative errno. */
#pragma once

#include "formats/raw/raw.h"

#include <limits.h>
#include <stddef.h>

struct rec_session {
	char folder[PATH_MAX]; /* "": none */
	struct cap_control *control;
	int lock_fd, dir_fd;
	uint8_t *known; /* by number: the ring is in use */
	size_t known_cap;
	uint32_t n_known;
};

/* Initialises without a folder; rec_session_end() may follow. */
void rec_session_init(struct rec_session *s);

/* Creates the folder on the first memory file system with enough space, and removes abandoned
 * folders there. Copies `settings` into the control page, except the fields set by the session:
 * magic, version, recorder_pid, heartbeat. */
int rec_session_begin(struct rec_session *s, const struct cap_control *settings);
/* Creates the folder within `base`, after rec_session_init(). -ENAMETOOLONG: the path does not fit
 * into the environment variable for programs. */
int rec_session_begin_at(struct rec_session *s, const char *base,
			 const struct cap_control *settings);

/* Binds the session to the existing raw recording `recording`, which gets its contents. */
int rec_session_bind(struct rec_session *s, const char *recording);

/* Takes over the folder of a killed recorder, after the last of its processes has ended. -ENOENT:
 * the folder no longer exists; -EBUSY: the recorder is running. */
int rec_session_attach(struct rec_session *s, const char *folder);

/* Updates the heartbeat; call it every 200 ms at least. */
void rec_session_heartbeat(struct rec_session *s);

/* Tells programs that the recorder has stopped reading. */
void rec_session_stop(struct rec_session *s);

/* Calls take(context, folder, name, number) for each unknown ring. If it returns 0, the ring
 * becomes known; after -EAGAIN it is offered again. Other errors end the scan and are returned. */
int rec_session_for_each_ring(struct rec_session *s,
			      int (*take)(void *context, int dir, const char *name,
					  uint32_t number),
			      void *context);

/* Removes the ring with that process and number. */
void rec_session_remove_ring(struct rec_session *s, int pid, uint32_t number);

/* Tells running programs that the recorder has stopped reading, and removes the folder. */
void rec_session_end(struct rec_session *s);
/* Ends the session but keeps its folder, for rec_session_attach(). */
void rec_session_detach(struct rec_session *s);
