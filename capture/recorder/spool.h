/* SPDX-License-Identifier: Apache-2.0 */

/* What was read of a session's rings, on disk: so that a recorder needs little memory while the
 * programs run, and one that is killed is followed by another that goes on where it was.
 *
 * A file of chunks, each of them as those of a trace (formats/trace/store/chunk.h): a header and a
 * zstd frame with checksums, written by one write(2). One that is killed leaves whole chunks but
 * the last. In a chunk lie pieces, in the order in which they were put. They are in the machine's
 * order: a spool is read where it was written, by a program of the same version. One thread.
 */
#pragma once

#include "base/text.h"
#include "capture/clock.h"
#include "capture/drain.h"

#include <limits.h>

#define REC_SPOOL_VERSION (10 * CAP_VERSION + 1) /* rings lie in it as they are */

enum rec_piece_kind {
	REC_PIECE_SESSION, /* struct rec_piece_session: the first of all */
	REC_PIECE_CLOCK,   /* struct cap_clock_segment, the next ones */
	REC_PIECE_RING,	   /* struct cap_drain_about: a ring that was not there before */
	REC_PIECE_BYTES,   /* of a ring, from `position` on */
	REC_PIECE_STATUS,  /* struct cap_drain_status of a ring, the latest */
	REC_PIECE_ROUND,   /* every ring was looked at */
};

struct rec_piece {
	uint32_t kind; /* enum rec_piece_kind */
	uint32_t ring; /* its number */
	uint64_t position;
	uint64_t bytes; /* of data, behind which it is filled up to a multiple of 8 */
	uint8_t data[];
};

struct rec_piece_session {
	uint32_t version; /* first in any version */
	uint32_t spare;
	struct cap_control settings;
	char folder[PATH_MAX]; /* of the session */
};

struct rec_spool {
	int fd;		    /* owned; -1: none */
	uint64_t bytes;	    /* of whole chunks */
	uint64_t at;	    /* how far rec_spool_read() is with them */
	struct text pieces; /* of the next chunk */
	int error;	    /* nothing more is written since this happened */
};

/* Makes the file `path`, which must not exist. */
int rec_spool_create(const char *path, struct rec_spool *ret);
/* Opens one, to be read first. */
int rec_spool_open(const char *path, struct rec_spool *ret);
void rec_spool_done(struct rec_spool *s);

/* Appends a piece; it is safe once rec_spool_flush() has returned 0. An error stays: the file then
 * ends with the last chunk that was whole. */
int rec_spool_put(struct rec_spool *s, const struct rec_piece *piece, const void *data);
int rec_spool_flush(struct rec_spool *s);

/* Calls take() for each piece of the whole chunks from the first on; the next chunk goes behind the
 * last of them. 0, an error of take(), or a negative errno. */
int rec_spool_read(struct rec_spool *s, int (*take)(void *context, const struct rec_piece *piece),
		   void *context);

/* The same of the chunk that follows the last one that was read, which another may write: 1; 0
 * where there is none yet. */
int rec_spool_next(struct rec_spool *s, int (*take)(void *context, const struct rec_piece *piece),
		   void *context);

/* The same of all that follow. */
int rec_spool_rest(struct rec_spool *s, int (*take)(void *context, const struct rec_piece *piece),
		   void *context);

/* Gives back the room on disk. */
void rec_spool_drop(struct rec_spool *s);
