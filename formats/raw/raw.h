/* SPDX-License-Identifier: Apache-2.0 */

/* A raw recording: the contents of the rings of all processes that one gpucapture recorded, on
 * disk. Raw recordings are converted to a trace later (formats/run/gpucapture/import.h), here or on
 * another machine. If a recorder is killed, another one appends to the same file.
 *
 * The file begins with a header, `struct rec_raw_header`. Chunks follow, each in the format of a
 * trace's chunks (formats/trace/store/chunk.h): a header and a zstd frame with checksums, written
 * by one write(2). If a recorder is killed, only the last chunk can be incomplete. A chunk contains
 * pieces, in the order in which they were appended. Integers are little-endian; the version
 * determines the layout of the records of rings. One thread. */
#pragma once

#include "base/text.h"
#include "formats/raw/clock.h"
#include "formats/raw/record.h"
#include "formats/raw/ring.h"
#include "formats/trace/error.h"

#include <limits.h>
#include <stdbool.h>

#define REC_RAW_VERSION (10 * CAP_VERSION + 3) /* records of rings are stored unchanged */
#define REC_MOST_RINGS (1u << 22)
#define REC_RAW_AHEAD 2 /* chunks */
#define REC_RAW_MAGIC "gpuraw\n"

struct rec_raw_header {
	char magic[8];
	uint32_t version;
	int32_t pid;	     /* of the recorder */
	int64_t realtime_ns; /* CLOCK_REALTIME at the start */
	char host[64];
	char boot[FMT_ORIGIN_ID]; /* boot and time namespace, as in struct fmt_origin */
	char run[FMT_ORIGIN_ID];  /* the launcher's name of the run; "": unknown */
	uint32_t part, n_parts;	  /* the launcher's number of the part; n_parts 0: the whole run */
	uint64_t hash;		  /* fmt_hash() of the preceding members */
};

enum rec_piece_kind {
	REC_PIECE_SESSION, /* struct rec_piece_session: the first piece */
	REC_PIECE_CLOCK,   /* struct cap_clock_segment: further segments */
	REC_PIECE_RING,	   /* struct cap_ring_info: a new ring */
	REC_PIECE_BYTES,   /* bytes of a ring, from `position` */
	REC_PIECE_STATUS,  /* struct cap_ring_status of a ring, the latest */
	REC_PIECE_ROUND,   /* every ring was read */
	REC_PIECE_BLOB,	   /* struct rec_piece_blob: a content too large for a ring */
	REC_PIECE_ENDING,  /* struct rec_piece_ending: state of a process at the end */
	REC_PIECE_END,	   /* struct rec_unrecorded: the recording is complete */
};

struct rec_piece {
	uint32_t kind; /* its number */
	uint32_t ring; /* its number */
	uint64_t position;
	uint64_t bytes; /* of data; padded with zeros to a multiple of 8 */
	uint8_t data[];
};

struct rec_piece_session {
	struct cap_control settings;
	char folder[PATH_MAX]; /* of the session */
};

struct rec_piece_blob {
	uint64_t name[2];
	uint64_t bytes; /* size of the content; the piece ends here if the content is too large for
			   a chunk */
	uint8_t data[];
};

struct rec_piece_ending {
	uint64_t started; /* with pid, identifies the process */
	int32_t pid;
	uint8_t is_running;
	uint8_t signal; /* that ended it; 0: unknown */
	uint8_t spare[2];
};

/* Counts of unrecorded calls and contents, by reason. */
struct rec_unrecorded {
	uint64_t no_ring_calls; /* of threads without a ring */
	uint64_t forked_calls;	/* of forked children that used their parent's CUDA */
	uint64_t contents;	/* without space in the session folder */
	int32_t no_ring_error;	/* errno of no_ring_calls */
	int32_t stopped;	/* errno that ended the recording early; or 0 */
	uint32_t processes;	/* that loaded the library */
	uint32_t spare;
};

struct rec_raw {
	int fd;		    /* owned; -1: none */
	bool is_final;	    /* the space reserved for the end may be used */
	uint64_t bytes;	    /* of the header and complete chunks */
	uint64_t at;	    /* read so far */
	struct text pieces; /* of the next chunk */
	bool reads_ahead;   /* rec_raw_next() decompresses the next chunks on other threads */
	struct rec_raw_ahead *ahead[REC_RAW_AHEAD]; /* owned: the next chunks; NULL: none */
	int error; /* first write error, after which nothing is written; or 0 */
};

/* Creates the file `path`, which must not exist; sets magic, version and hash of the header. */
int rec_raw_create(const char *path, struct rec_raw_header *header, struct rec_raw *ret);
/* Opens a file for reading and, with `append`, for rec_raw_put() after all of it was read.
 * -EBADMSG: not a raw recording; -ENOTSUP: of another version. */
int rec_raw_open(const char *path, bool append, struct rec_raw_header *header, struct rec_raw *ret,
		 struct fmt_error *err);
void rec_raw_done(struct rec_raw *s);

/* Appends a piece, which is on disk after rec_raw_flush() has returned 0. Errors persist: the file
 * then ends with the last complete chunk. Space for a last chunk remains allocated on disk, for
 * rec_raw_use_reserve(). */
int rec_raw_put(struct rec_raw *s, const struct rec_piece *piece, const void *data);
/* Appends a piece whose data is `head`, followed by `data`. */
int rec_raw_put_parts(struct rec_raw *s, const struct rec_piece *piece, const void *head,
		      size_t head_bytes, const void *data);
int rec_raw_flush(struct rec_raw *s);
/* Discards the error and unflushed pieces; the reserved space may then be used. */
void rec_raw_use_reserve(struct rec_raw *s);

/* Calls take() for each piece of all complete chunks; the next chunk is appended after the last of
 * them. Returns 0, an error of take(), or a negative errno. */
int rec_raw_read(struct rec_raw *s, int (*take)(void *context, const struct rec_piece *piece),
		 void *context);

/* Calls take() for each piece of the next chunk. Returns 1, or 0 at the end. */
int rec_raw_next(struct rec_raw *s, int (*take)(void *context, const struct rec_piece *piece),
		 void *context);
/* After rec_raw_next() returned 0: skips damaged bytes up to the next complete chunk. Returns 1, or
 * 0 at the end of the file. Not allowed with `append`. */
int rec_raw_skip_damaged(struct rec_raw *s);
/* Makes the next rec_raw_next() read the first chunk. */
void rec_raw_rewind(struct rec_raw *s);
