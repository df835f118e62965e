/* SPDX-License-Identifier: Apache-2.0 */

/* The events of a traced process (process.h). */
#pragma once

#include "formats/run/collectives/order.h"
#include "formats/run/gpucapture/process/waits.h"
#include "formats/trace/model.h"

#include <stdbool.h>

#define REC_MOST_UNKNOWN 65535
#define REC_LATEST_NS (INT64_MAX / 4) /* what is later was scribbled: sums of times are safe */

#define REC_NO_TIME (-1) /* the duration of an operation whose times did not come */

/* A call or an operation, or a range; ops have a duration of REC_NO_TIME until their times come. */
struct rec_event {
	int64_t start_ns, duration_ns;
	uint64_t correlation; /* 1 + id of the call; ops have their call's */
	uint32_t first_value; /* of the process's values */
	uint32_t template, track;
	uint32_t call;	/* ops: the event that launched it; else REC_NONE */
	uint32_t index; /* ops: among those of their call */
	int16_t device; /* -1: unknown */
	uint8_t kind;	/* enum fmt_kind */
	uint8_t keeps;	/* calls: a window keeps it from before its first iteration */
};

struct rec_track {
	uint8_t kind;	/* enum fmt_track_kind */
	int16_t device; /* of a stream; of a thread: the first that it launched on, or -1 */
	int64_t number; /* thread id, or number of the stream */
	fmt_str name;
	uint32_t timed; /* of streams: the last event whose times came; 0: none */
};

/* The part of one rank in a collective, as one operation. */
struct rec_collective {
	uint32_t event; /* the operation; REC_NONE: first reading */
	uint32_t comm;	/* of the process */
	fmt_str op;	/* "all_reduce" */
	fmt_str dtype;
	int64_t bytes;
	fmt_str parts; /* JSON, for FMT_KEY_PARTS; 0: it is of one call */
	uint8_t is_message;
	uint8_t per_rank; /* the bytes are to be multiplied by the communicator's ranks */
	uint32_t first_message, n_messages; /* of the process */
	uint32_t number;		    /* among all of the process, from 0 on */
	int64_t start_ns, end_ns; /* first reading: of the operation; end_ns 0: no times came */
};

struct rec_comm {
	uint64_t id;	 /* the same on all ranks, and of no other communicator */
	uint64_t parent; /* id of what it was split from, where rank is its rank; 0: none */
	int64_t key;	 /* what ranks of a split are ordered by */
	uint32_t rank, n;
	uint32_t splits; /* so many were made of it */
	int16_t device;
};

struct rec_fact {
	fmt_str key, value; /* value: JSON */
};

struct rec_digest {
	uint64_t id;
	uint32_t index;
	uint32_t event;		  /* once it was looked for; REC_NONE: not found */
	bool is_content;	  /* in place of a digest: the name of a content */
	struct fmt_digest digest; /* pages are the process's; op is not set */
};

/* A code image that was loaded. */
struct rec_image {
	uint64_t name[2]; /* of its content */
	uint64_t bytes, offset_bytes;
	fmt_str file, build_id; /* where it lies, where it is not a content; the second in hex */
	uint8_t kind;		/* enum fmt_image_kind */
	uint8_t stored;		/* the content is in the session folder */
};

/* A range that has begun. */
struct rec_open {
	int64_t start_ns;
	fmt_str text, domain;
	uint64_t key;
};

/* Times that wait for their operations, and operations that wait for theirs. */
struct rec_times {
	struct rec_waits waits;
	bool none; /* nobody asked for them: nothing waits */
};

/* Communicators, and the collectives of the segment. */
struct rec_nccl {
	struct rec_comm *comms; /* owned, as the next two */
	size_t n_comms, comms_cap;
	struct rec_collective *collectives;
	size_t n_collectives, collectives_cap;
	struct fmt_message *messages; /* of the collectives, in their order */
	size_t n_messages, messages_cap;
	uint32_t made; /* collectives of all segments */
};

/* Digests and contents that wait for their operations, or for the segment to be written. */
struct rec_buffers {
	struct rec_waits due;	    /* that are announced, by call */
	struct rec_digest *digests; /* owned */
	size_t n_digests, digests_cap;
	uint64_t *pages; /* owned: of the digests */
	size_t n_pages, pages_cap;
};
