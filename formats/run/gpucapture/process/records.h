/* SPDX-License-Identifier: Apache-2.0 */

/* The events of a traced process (process.h). */
#pragma once

#include "formats/run/collectives/by_order.h"
#include "formats/run/gpucapture/process/pending.h"
#include "formats/trace/model.h"

#include <stdbool.h>

#define REC_MOST_UNKNOWN 65535
#define REC_LATEST_NS (INT64_MAX / 4) /* later times are invalid; sums of others do not wrap */

#define REC_NO_TIME (-1) /* duration of an operation whose times have not arrived */

/* A call, an operation or a range. An operation has the duration REC_NO_TIME until its times
 * arrive. */
struct rec_event {
	int64_t start_ns, duration_ns;
	uint64_t correlation; /* 1 + id of the call; operations have that of their call */
	uint32_t first_value; /* index in the process's values */
	uint32_t template, track;
	uint32_t call;	/* operations: the event that launched it; else REC_NONE */
	uint32_t index; /* while a segment is made: in its rank; REC_NONE: left out */
	int16_t device; /* -1: unknown */
	uint8_t kind;	/* enum fmt_kind */
	uint8_t keeps;	/* calls: a window keeps it although it is before the first iteration */
};

struct rec_track {
	uint8_t kind;	/* enum fmt_track_kind */
	int16_t device; /* of a stream; of a thread: the first device that it launched on, or -1 */
	int64_t number; /* thread id, or number of the stream */
	fmt_str name;
	uint32_t timed; /* streams: the last event whose times arrived; 0: none */
	uint32_t rank;	/* cache: 1 + a rank with events of the track; 0: none */
	uint32_t index; /* of the track in that rank's tracks */
};

/* One rank's participation in a collective, as one operation. */
struct rec_collective {
	uint32_t event; /* the operation; REC_NONE: first reading */
	uint32_t comm;	/* index within the process */
	fmt_str op;	/* "all_reduce" */
	fmt_str dtype;
	int64_t bytes;
	fmt_str parts; /* JSON, for FMT_KEY_PARTS; 0: a single call */
	uint8_t is_message;
	uint8_t per_rank;		    /* `bytes` must be multiplied by the number of ranks */
	uint32_t first_message, n_messages; /* index within the process */
	uint32_t number;		    /* within the process, from 0 */
	int64_t start_ns, end_ns; /* first reading: of the operation; end_ns 0: none arrived */
};

struct rec_comm {
	uint64_t id;	 /* globally unique, equal on all ranks */
	uint64_t parent; /* of a split: id of its parent, in which `rank` counts; else 0 */
	int64_t key;	 /* orders the ranks of a split */
	uint32_t rank, n;
	uint32_t splits; /* number of communicators made from it */
	int16_t device;
};

struct rec_fact {
	fmt_str key, value; /* value: JSON */
};

struct rec_digest {
	uint64_t id;		  /* of its call */
	int64_t at_ns;		  /* of live memory; else -1 */
	uint32_t event;		  /* once searched; REC_NONE: not found */
	bool is_content;	  /* `digest.digest` is the hash of a content */
	bool is_placed;		  /* of live memory: written with a segment, or left out */
	struct fmt_digest digest; /* pages are indexes in the process's pages; op is not set */
};

/* A loaded code image. */
struct rec_image {
	uint64_t name[2]; /* hash of its content */
	uint64_t bytes, offset_bytes;
	fmt_str file, build_id; /* path and build id (hex) if its content is not stored */
	uint8_t kind;		/* enum fmt_image_kind */
	uint8_t stored;		/* the content is in the session folder */
};

/* A range that has not ended. */
struct rec_open_range {
	int64_t start_ns;
	fmt_str text, domain;
	uint64_t key;
};

/* Times that wait for their operations, and operations that wait for their times. */
struct rec_times {
	struct rec_pending_table waits;
	bool none; /* device times are not recorded: nothing waits for them */
};

/* Communicators, and the collectives of the segment. */
struct rec_nccl {
	struct rec_comm *comms; /* owned, as the next two */
	size_t n_comms, comms_cap;
	struct rec_collective *collectives;
	size_t n_collectives, collectives_cap;
	struct fmt_message *messages; /* of the collectives, in their order */
	size_t n_messages, messages_cap;
	uint32_t made; /* number of collectives in all segments */
};

/* Digests and contents that wait for their operations or for the end of the segment. */
struct rec_buffers {
	struct rec_pending_table due; /* announced digests, by call */
	struct rec_digest *digests;   /* owned */
	size_t n_digests, digests_cap;
	uint64_t *pages; /* owned: pages of the digests */
	size_t n_pages, pages_cap;
};
