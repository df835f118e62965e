/* SPDX-License-Identifier: Apache-2.0 */

/* A raw recording: what one gpucapture read of the rings of all processes that it recorded, on
 * disk. A trace is made from raw recordings later (formats/run/gpucapture/import.h), here or on
 * another machine. A recorder that was killed is replaced by one that appends to the same file.
 *
 * The file begins with a header, `struct rec_raw_header`. Chunks follow, each of them as those of a
 * trace (formats/trace/store/chunk.h): a header and a zstd frame with checksums, written by one
 * write(2). A recorder that is killed leaves whole chunks but the last. A chunk holds pieces, in
 * the order in which they were appended. Integers are little-endian; the version says which layout
 * the records of rings have. One thread.
 */
#pragma once

#include "base/text.h"
#include "formats/raw/clock.h"
#include "formats/raw/record.h"
#include "formats/raw/ring.h"
#include "formats/trace/error.h"

#include <limits.h>
#include <stdbool.h>

#define REC_RAW_VERSION (10 * CAP_VERSION + 2) /* records of rings are stored unchanged */
#define REC_MOST_RINGS (1u << 22)
#define REC_RAW_MAGIC "gpuraw\n"

struct rec_raw_header {
	char magic[8];
	uint32_t version;
	int32_t pid;	     /* of the recorder */
	int64_t realtime_ns; /* CLOCK_REALTIME when it began */
	char host[64];
	char boot[FMT_ORIGIN_ID]; /* boot and time namespace, as struct fmt_origin has it */
	char run[FMT_ORIGIN_ID];  /* the launcher's name of the run; "": not known */
	uint32_t part, n_parts;	  /* the launcher's number of the part; n_parts 0: all of the run */
	uint64_t hash;		  /* fmt_hash() of what is before */
};

enum rec_piece_kind {
	REC_PIECE_SESSION, /* struct rec_piece_session: the first of all */
	REC_PIECE_CLOCK,   /* struct cap_clock_segment, the next ones */
	REC_PIECE_RING,	   /* struct cap_drain_about: a ring that was not there before */
	REC_PIECE_BYTES,   /* of a ring, from `position` on */
	REC_PIECE_STATUS,  /* struct cap_drain_status of a ring, the latest */
	REC_PIECE_ROUND,   /* every ring was looked at */
	REC_PIECE_BLOB,	   /* struct rec_piece_blob: a content that was too large for a ring */
	REC_PIECE_ENDING,  /* struct rec_piece_ending: how a process was found at the end */
	REC_PIECE_END,	   /* struct rec_unread: the recording is complete */
};

struct rec_piece {
	uint32_t kind; /* enum rec_piece_kind */
	uint32_t ring; /* its number */
	uint64_t position;
	uint64_t bytes; /* of data; zero bytes follow up to a multiple of 8 */
	uint8_t data[];
};

struct rec_piece_session {
	struct cap_control settings;
	char folder[PATH_MAX]; /* of the session */
};

struct rec_piece_blob {
	uint64_t name[2];
	uint64_t bytes; /* of the content; the piece ends here where it is too large for a chunk */
	uint8_t data[];
};

struct rec_piece_ending {
	uint64_t started; /* with the pid, tells the process from others */
	int32_t pid;
	uint8_t is_running;
	uint8_t signal; /* that ended it; 0: not known */
	uint8_t spare[2];
};

/* Counts of calls that were not recorded, by reason. */
struct rec_unread {
	uint64_t no_ring_calls; /* of threads that got no ring */
	uint64_t forked_calls;	/* of forked children that went on with their parent's CUDA */
	uint64_t contents;	/* that found no space in the session folder */
	int32_t no_ring_error;	/* errno of no_ring_calls */
	int32_t stopped;	/* errno that ended the recording early; 0 */
	uint32_t processes;	/* that have loaded the library */
	uint32_t spare;
};

struct rec_raw {
	int fd;			     /* owned; -1: none */
	bool is_final;		     /* the space that is kept for the end may be used */
	uint64_t bytes;		     /* of the header and whole chunks */
	uint64_t at;		     /* read so far */
	struct text pieces;	     /* of the next chunk */
	bool reads_ahead;	     /* rec_raw_next() unpacks the chunk behind on another thread */
	struct rec_raw_ahead *ahead; /* owned; NULL: none */
	int error;		     /* nothing is written any more since this happened; 0 */
};

/* Creates the file `path`, which must not exist; magic, version and hash of the header are set. */
int rec_raw_create(const char *path, struct rec_raw_header *header, struct rec_raw *ret);
/* Opens one for reading and, with `append`, for rec_raw_put() once all of it was read. -EBADMSG:
 * not a raw recording; -ENOTSUP: of another version. */
int rec_raw_open(const char *path, bool append, struct rec_raw_header *header, struct rec_raw *ret,
		 struct fmt_error *err);
void rec_raw_done(struct rec_raw *s);

/* Appends a piece; it is safe once rec_raw_flush() has returned 0. An error stays: the file then
 * ends with the last whole chunk. Space for a last chunk stays allocated on disk, for
 * rec_raw_end(). */
int rec_raw_put(struct rec_raw *s, const struct rec_piece *piece, const void *data);
/* The same of data in two parts. */
int rec_raw_put_parts(struct rec_raw *s, const struct rec_piece *piece, const void *head,
		      size_t head_bytes, const void *data);
int rec_raw_flush(struct rec_raw *s);
/* Discards the error, and pieces that were not flushed; the space that was kept may be used. */
void rec_raw_end(struct rec_raw *s);

/* Calls take() for each piece of the whole chunks from the first on; the next chunk is appended
 * behind the last of them. 0, an error of take(), or a negative errno. */
int rec_raw_read(struct rec_raw *s, int (*take)(void *context, const struct rec_piece *piece),
		 void *context);

/* The same of the next chunk only: 1; 0 at the end. */
int rec_raw_next(struct rec_raw *s, int (*take)(void *context, const struct rec_piece *piece),
		 void *context);
/* After rec_raw_next() returned 0: skips damaged bytes up to the next whole chunk: 1; 0: there is
 * none. Not for a recording that is appended to. */
int rec_raw_skip(struct rec_raw *s);
/* The next rec_raw_next() reads the first chunk. */
void rec_raw_rewind(struct rec_raw *s);
