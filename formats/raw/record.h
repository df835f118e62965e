/* SPDX-License-Identifier: Apache-2.0 */

/* The records of a ring (formats/raw/ring.h). Each begins with a cap_record, has a multiple of 8
 * bytes, and never crosses the end of the ring, which is padded with a CAP_PAD. Numbers have the
 * machine's byte order.
 *
 * A call is written when it returns, after its nested calls, which have greater depths and
 * ordinals. Other records of a call (blobs, images) have its id and precede it, too. Times, digests
 * and contents of its operations follow later, from any thread of the process.
 *
 * Clocks: `start` and `end` of calls and ranges are in the ring's clock; `_ns` are in the clock of
 * the recording: CLOCK_MONOTONIC, or virtual time under gpuemu. */
#pragma once

#include "formats/trace/store/cursor.h"

#include <stdint.h>

enum cap_record_kind {
	CAP_PAD,     /* skip `bytes` */
	CAP_CALL,    /* struct cap_call_record */
	CAP_BLOB,    /* struct cap_blob_record */
	CAP_IMAGE,   /* struct cap_image_record */
	CAP_TIMES,   /* struct cap_times_record */
	CAP_DIGEST,  /* struct cap_digest_record */
	CAP_RANGE,   /* struct cap_range_record */
	CAP_FACT,    /* struct cap_text_record: key and value, about the process */
	CAP_NAME,    /* struct cap_text_record: name of a function without a description; before its
			first use in a ring */
	CAP_LOST,    /* struct cap_lost_record */
	CAP_PAYLOAD, /* struct cap_payload_record */
	CAP_ANNOUNCED, /* struct cap_announced_record */
	CAP_NODE,   /* struct cap_node_record: a node of the graph that the call instantiates; with
		       the id of a launch: the node of this launch in a capture */
	CAP_LAYOUT, /* struct cap_layout_record: for later records of the ring */
	CAP_PARAMS, /* struct cap_params_record */
	CAP_KINDS,
};

struct cap_record {
	uint32_t bytes; /* including this header; a multiple of 8 */
	uint16_t kind;	/* enum cap_record_kind */
	uint8_t depth;	/* CALL: 0 called by the program, 1 inside such a call, ... */
	uint8_t flags;
};

/* Flags of a CALL. */
#define CAP_CALL_ALWAYS 1  /* creates or destroys an object: recorded while paused, too */
#define CAP_CALL_RAW 2	   /* no description: words are the six argument registers */
#define CAP_CALL_OUTSIDE 8 /* made while paused */
#define CAP_CALL_REPEATED                                                                          \
	16 /* many calls that polled, of which this is one: times from the first to the last; the  \
	      number of calls is one more word, the last */
#define CAP_CALL_ORDERED                                                                           \
	32 /* times are virtual, and do not order threads: the host's own counter when the call    \
	      began and when it returned are two more words, behind all others */

/* Numbers from here refer to a CAP_NAME of the same process. */
#define CAP_API_UNKNOWN (1u << 24)

struct cap_call_record {
	struct cap_record head;
	uint32_t api; /* index into formats/api, or CAP_API_UNKNOWN + n */
	int32_t result;
	uint64_t id;
	uint64_t start, end; /* in the ring's clock */
	uint64_t words[]; /* one per argument, several for a struct by value; a result wider than 32
			     bits adds one at the end */
};

enum cap_blob_kind {
	CAP_BLOB_BEFORE,  /* memory that argument `arg` points to, before the call */
	CAP_BLOB_AFTER,	  /* the same after the call: results */
	CAP_BLOB_PARAMS,  /* kernel parameters: u32 n, n times u32 offset, u32 size; u16 registers
			     and u16 shared_bytes of the layout; then the packed bytes. Not in a
			     ring: formats/raw/layouts.h makes it from a CAP_PARAMS. */
	CAP_BLOB_FIELD,	  /* memory that field number `field` of the argument's struct points to,
			     before the call */
	CAP_BLOB_HANDLES, /* of ncclGroupEnd: the communicators that calls of the group were to
			     create and had not, in the order of these calls; of
			     cuStreamGetCaptureInfo: the nodes at the pointer that it returns */
	CAP_BLOB_BYTES,	  /* u64: size of the memory at the address that the call returned, if no
			     argument is the size */
};

struct cap_blob_record {
	struct cap_record head; /* flags: enum cap_blob_kind */
	uint16_t arg;
	uint16_t field; /* CAP_BLOB_FIELD: of formats/api's description. For a scalar whose type is
			   not in the call's name: its cudaDataType, plus 1; else 0 */
	uint32_t len;	/* of data */
	uint64_t id;
	uint64_t whole_len; /* if greater than len, the data was truncated */
	uint8_t data[];
};

/* The layout of a kernel's parameters in CAP_PARAMS records with this number, until another layout
 * gets the number. */
#define CAP_LAYOUTS 256
struct cap_layout_record {
	struct cap_record head; /* flags: the number */
	uint16_t registers;	/* of a thread; 0: unknown */
	uint16_t shared_bytes;	/* of a block, without what the launch adds */
	uint32_t n;
	struct cap_param {
		uint32_t offset, size;
	} params[];
};

/* Packed kernel parameters: at least as many bytes as the layout has. */
struct cap_params_record {
	struct cap_record head; /* depth: number of the argument; flags: number of the layout */
	uint64_t id;
	uint8_t data[];
};

/* A code image that the call loads: content-addressed. */
#define CAP_IMAGE_STORED 1 /* stored as blob-HASH; else it is in the file `path` */
#define CAP_IMAGE_KIND(flags) ((flags) >> 1 & 3)
struct cap_image_record {
	struct cap_record head; /* flags: CAP_IMAGE_STORED, and enum fmt_image_kind * 2 */
	uint16_t arg;
	uint16_t build_id_len;
	uint32_t path_len;
	uint64_t id;
	uint64_t hash[2]; /* XXH3, 128 bits, low half first; zero: not computed */
	uint64_t size, offset;
	char data[]; /* path, then build id (raw bytes); neither is terminated */
};

struct cap_times_record {
	struct cap_record head;
	uint64_t id; /* of the launching call */
	int64_t start_ns, end_ns;
};

/* Flags of a DIGEST and a PAYLOAD. */
#define CAP_DIGEST_OUTPUT 1
#define CAP_DIGEST_EMPTY 2 /* missing, or not wanted: the announced record has no contents */
#define CAP_DIGEST_LIVE 4  /* live memory before the call; with OUTPUT after it */
#define CAP_DIGEST_UNANNOUNCED 8

struct cap_digest_record {
	struct cap_record head;
	uint32_t n_pages, spare;
	uint64_t id; /* of the launching call; at the end of an iteration: of the next marker */
	uint64_t at; /* of a LIVE one: its time in the ring's clock */
	uint64_t allocation, offset_bytes,
		length_bytes; /* allocation: the id of the allocating call */
	uint64_t digest[2];
	uint64_t pages[]; /* two words each */
};

/* Contents for --payloads, stored as blob-HASH. */
struct cap_payload_record {
	struct cap_record head;
	uint64_t id; /* of the call; of a LIVE one: its time in the ring's clock */
	uint64_t allocation, offset_bytes, length_bytes;
	uint64_t hash[2];
};

/* Number of digests and payloads that will follow for the call; precedes the record of the call. */
struct cap_announced_record {
	struct cap_record head;
	uint32_t n;
	uint32_t spare;
	uint64_t id;
};

enum cap_range_kind {
	CAP_RANGE_PUSH,
	CAP_RANGE_POP,
	CAP_RANGE_START, /* the range has the key `key`; it may end on another thread */
	CAP_RANGE_END,
	CAP_RANGE_MARK,
	CAP_RANGE_ITERATION, /* gputrace_mark_iteration(): iteration `key` begins */
};

/* In the flags of a PUSH or START: the range begins an iteration, at which --digest=step digests
 * all allocations. */
#define CAP_RANGE_STEP 0x80

/* A node of a graph. The records of a graph are in the order of its nodes; none or all exist. */
struct cap_node_record {
	struct cap_record head; /* flags: enum CUgraphNodeType */
	uint32_t node, n_nodes; /* number of the node; number of nodes */
	uint32_t n_deps, params_len;
	uint64_t id;	 /* of the call */
	uint64_t handle; /* in the program's graph */
	uint32_t deps[]; /* nodes that it waits for; then its parameters, in the driver's struct for
			    this kind of node */
};

struct cap_range_record {
	struct cap_record head; /* flags: enum cap_range_kind, CAP_RANGE_STEP */
	uint32_t text_len, domain_len;
	uint64_t at; /* in the ring's clock */
	uint64_t key;
	uint64_t id;		  /* of the thread's next call: position in the order of calls */
	uint32_t color, category; /* ARGB; 0: none */
	char data[];		  /* text, then domain; neither is terminated */
};

struct cap_text_record {
	struct cap_record head;
	uint32_t number; /* CAP_NAME: of the function; CAP_FACT: 0 */
	uint32_t key_len, value_len;
	uint32_t spare;
	char data[]; /* key, then value; for CAP_NAME the name, then the library */
};

/* Lost records, written when a full ring has space again. */
struct cap_lost_record {
	struct cap_record head;
	uint64_t records, bytes; /* since the last such record */
	uint64_t since;		 /* in the ring's clock */
};

/* Returns the next record: its kind is valid (and not CAP_PAD), it is large enough for its kind,
 * and its lengths are within it. It points into the bytes of the cursor, which must be 8-byte
 * aligned. Returns 1; 0 at the end; -EBADMSG: an invalid record; the remaining bytes are lost. */
int cap_record_next(struct fmt_cursor *c, const struct cap_record **ret);

/* Returns the number of words of a call, without the counters of an ordered call. */
uint32_t cap_call_words(const struct cap_call_record *c);

/* Return when the call began and returned, in numbers that order the calls of all processes of a
 * host: ticks of its counter, or nanoseconds if `start` and `end` were converted to them. */
uint64_t cap_call_began(const struct cap_call_record *c);
uint64_t cap_call_order(const struct cap_call_record *c);
