/* SPDX-License-Identifier: Apache-2.0 */

/* The records of a ring (formats/raw/ring.h). Each begins with a cap_record, is a multiple of 8
 * bytes long, and never crosses the ring's end: a CAP_PAD fills it. Numbers are in the machine's
 * order.
 *
 * A call is written when it returns, after the calls inside it, whose depth and ordinals are
 * greater. Other records of a call (blobs, images) have its id and precede it, too. Times, digests
 * and contents of its operations follow later, from any thread of the process.
 *
 * Clocks: `start` and `end` of calls and ranges are in the ring's clock; `_ns` are on the clock of
 * the recording: CLOCK_MONOTONIC, or virtual time under gpuemu.
 */
#pragma once

#include "formats/trace/store/cursor.h"

#include <stdint.h>

enum cap_kind {
	CAP_PAD,       /* skip `bytes` */
	CAP_CALL,      /* struct cap_call_record */
	CAP_BLOB,      /* struct cap_blob_record */
	CAP_IMAGE,     /* struct cap_image_record */
	CAP_TIMES,     /* struct cap_times_record */
	CAP_DIGEST,    /* struct cap_digest_record */
	CAP_RANGE,     /* struct cap_range_record */
	CAP_FACT,      /* struct cap_text_record: key and value, about the process */
	CAP_NAME,      /* struct cap_text_record: name of a call without a description; before its
			  first use in a ring */
	CAP_LOST,      /* struct cap_lost_record */
	CAP_PAYLOAD,   /* struct cap_payload_record */
	CAP_ANNOUNCED, /* struct cap_announced_record */
	CAP_NODE,   /* struct cap_node_record: a node of the graph that the call instantiates; with
		       the id of a launch: the node that it became in a capture */
	CAP_NODES,  /* struct cap_nodes_record: times of the nodes of a launch */
	CAP_LAYOUT, /* struct cap_layout_record: for the records after it in the ring */
	CAP_PARAMS, /* struct cap_params_record */
	CAP_KINDS,
};

struct cap_record {
	uint32_t bytes; /* with this; a multiple of 8 */
	uint16_t kind;	/* enum cap_kind */
	uint8_t depth;	/* CALL: 0 called by the program, 1 inside such a call, ... */
	uint8_t flags;
};

/* Flags of a CALL. */
#define CAP_CALL_ALWAYS 1  /* creates or destroys an object: recorded while paused, too */
#define CAP_CALL_RAW 2	   /* no description: words are the six argument registers */
#define CAP_CALL_UNENDED 4 /* did not return: the thread or process ended within it */
#define CAP_CALL_OUTSIDE 8 /* happened while paused */
#define CAP_CALL_REPEATED                                                                          \
	16 /* many calls that polled, of which this is one: times from the first to the last; the  \
	      number of calls is one more word, the last */
#define CAP_CALL_ORDERED                                                                           \
	32 /* times are virtual, and do not order threads: the host's own counter when the call    \
	      returned is one more word, behind all others */

/* From here on the number is that of a CAP_NAME of the same process. */
#define CAP_API_UNKNOWN (1u << 24)

struct cap_call_record {
	struct cap_record head;
	uint32_t api; /* index into formats/api, or CAP_API_UNKNOWN + n */
	int32_t result;
	uint64_t id;
	uint64_t start, end; /* in the ring's clock */
	uint64_t words[];    /* one an argument, several for a struct by value; a result wider than
				32 bits is one more, the last */
};

enum cap_blob_what {
	CAP_BLOB_BEFORE, /* memory that argument `arg` points to, before the call */
	CAP_BLOB_AFTER,	 /* the same after the call: results */
	CAP_BLOB_PARAMS, /* kernel parameters: u32 n, n times u32 offset, u32 size; u16 registers
			    and u16 shared_bytes of the layout; then the packed bytes. Not in a
			    ring: formats/raw/layouts.h makes it from a CAP_PARAMS. */
	CAP_BLOB_EXTRA,	 /* kernel parameters as CU_LAUNCH_PARAM_BUFFER_POINTER gave them */
	CAP_BLOB_FIELD,	 /* memory that field number `field` of the struct at the argument points
			    to, before the call */
};

struct cap_blob_record {
	struct cap_record head; /* flags: enum cap_blob_what */
	uint16_t arg;
	uint16_t field; /* CAP_BLOB_FIELD: of formats/api's description */
	uint32_t len;	/* of data */
	uint64_t id;
	uint64_t whole_len; /* greater than len: only the beginning was kept */
	uint8_t data[];
};

/* The layout of a kernel's parameters in CAP_PARAMS records with this number, until the number is
 * given to another layout. */
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

/* Packed kernel parameters: as many bytes as the layout has, or more. */
struct cap_params_record {
	struct cap_record head; /* depth: number of the argument; flags: number of the layout */
	uint64_t id;
	uint8_t data[];
};

/* A code image that the call loads: content-addressed. */
#define CAP_IMAGE_STORED 1 /* kept as blob-HASH; else it is in the file `path` */
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
	uint32_t index; /* among the operations of the call */
	uint32_t spare;
	uint64_t id; /* of the launching call */
	int64_t start_ns, end_ns;
};

/* Flags of a DIGEST and a PAYLOAD. */
#define CAP_DIGEST_OUTPUT 1
#define CAP_DIGEST_EMPTY 2 /* not made, or not wanted: the announced record has no contents */
#define CAP_DIGEST_LIVE 4  /* in memory at that moment: before the call; with OUTPUT after it */
#define CAP_DIGEST_UNANNOUNCED 8

struct cap_digest_record {
	struct cap_record head;
	uint32_t index; /* among the operations of the call */
	uint32_t n_pages;
	uint64_t id; /* of the launching call; at the end of an iteration: of the next mark */
	uint64_t allocation, offset_bytes, length_bytes; /* the id of the call that made it */
	uint64_t digest[2];
	uint64_t pages[]; /* two words each */
};

/* Contents for --payloads, kept as blob-HASH. */
struct cap_payload_record {
	struct cap_record head;
	uint32_t index;
	uint32_t spare;
	uint64_t id;
	uint64_t allocation, offset_bytes, length_bytes;
	uint64_t hash[2];
};

/* Digests and payloads that will follow for the call; precedes the record of the call. */
struct cap_announced_record {
	struct cap_record head;
	uint32_t n;
	uint32_t spare;
	uint64_t id;
};

enum cap_range_what {
	CAP_RANGE_PUSH,
	CAP_RANGE_POP,
	CAP_RANGE_START, /* `key` is the range's; it may end on another thread */
	CAP_RANGE_END,
	CAP_RANGE_MARK,
	CAP_RANGE_ITERATION, /* gputrace_mark_iteration(): iteration `key` begins */
};

/* In the flags of a PUSH or START: it begins an iteration, at which --digest=step digests all
 * allocations. */
#define CAP_RANGE_STEP 0x80

/* A node of a graph. The records of a graph are in the order of its nodes, all of them or none.
 * `place` is the position in an order in which each node follows its dependencies. The operations
 * of a launch are counted in that order; unless each node waits for exactly the one before it, one
 * more operation is the end of all nodes.
 */
#define CAP_NODE_WHOLE UINT32_MAX
#define CAP_NODE_UNTIMED (UINT32_MAX - 1)
struct cap_node_record {
	struct cap_record head; /* flags: enum CUgraphNodeType */
	uint32_t node, n_nodes; /* number of the node, and of nodes */
	uint32_t op;		/* index of its times among those of each launch, in CAP_NODES;
				   CAP_NODE_WHOLE: none; if no node has times, a launch is one
				   operation; CAP_NODE_UNTIMED: times of nodes are off */
	uint32_t n_deps;
	uint64_t id;	 /* of the call */
	uint64_t handle; /* in the program's graph */
	uint32_t params_len, place;
	uint32_t deps[]; /* nodes that it waits for; then its parameters, in the driver's struct for
			    that kind of node */
};

struct cap_nodes_record {
	struct cap_record head;
	uint32_t first, n; /* indices among the operations of the launch */
	uint64_t id;	   /* of the launch */
	struct {
		int64_t start_ns, end_ns;
	} times[];
};

struct cap_range_record {
	struct cap_record head; /* flags: enum cap_range_what, CAP_RANGE_STEP */
	uint32_t text_len, domain_len;
	uint64_t at; /* in the ring's clock */
	uint64_t key;
	uint64_t id;		  /* of the thread's next call: the position among the calls */
	uint32_t color, category; /* ARGB; 0 none */
	char data[];		  /* text, then domain; neither is terminated */
};

struct cap_text_record {
	struct cap_record head;
	uint32_t number; /* CAP_NAME: the call's; CAP_FACT: 0 */
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

/* The next record: its kind is valid (and not CAP_PAD), it is large enough for its kind, and its
 * lengths lie within it. It points into the bytes of the cursor, which are 8-byte aligned. 1; 0:
 * the end; -EBADMSG: an invalid record, after which the rest is lost. */
int cap_record_next(struct fmt_cursor *c, const struct cap_record **ret);

/* Number of words of a call, without the counter of an ordered one. */
uint32_t cap_call_words(const struct cap_call_record *c);

/* Calls of a process returned in the order of these numbers: ticks of the host's counter, or
 * nanoseconds where `end` was converted to them. */
uint64_t cap_call_order(const struct cap_call_record *c);
