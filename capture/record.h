/* SPDX-License-Identifier: Apache-2.0 */

/* The records of a ring (capture/ring.h). Each begins with a cap_record, is a multiple of 8 bytes
 * long, and never crosses the ring's end: a CAP_PAD fills it. Numbers are in the machine's order.
 *
 * A call is written when it returns, so the calls inside it come before it: their depth is greater,
 * their ordinals too. What else belongs to a call (its blobs, images) has its id, and comes before
 * it as well. Times, digests and contents of device work come later, from any thread of the
 * process.
 *
 * Clocks: `start` and `end` of calls and ranges are in the ring's clock; `_ns` are on the clock of
 * the recording: CLOCK_MONOTONIC, or virtual time under gpuemu.
 */
#pragma once

#include <stdint.h>

enum cap_kind {
	CAP_PAD,       /* skip `bytes` */
	CAP_CALL,      /* struct cap_call_record */
	CAP_BLOB,      /* struct cap_blob_record */
	CAP_IMAGE,     /* struct cap_image_record */
	CAP_TIMES,     /* struct cap_times_record */
	CAP_DIGEST,    /* struct cap_digest_record */
	CAP_RANGE,     /* struct cap_range_record */
	CAP_FACT,      /* struct cap_text_record: key and value; of the process */
	CAP_NAME,      /* struct cap_text_record: a call without a description; before its first use
			  in a ring */
	CAP_LOST,      /* struct cap_lost_record */
	CAP_PAYLOAD,   /* struct cap_payload_record */
	CAP_ANNOUNCED, /* struct cap_announced_record */
	CAP_NODE,   /* struct cap_node_record: a node of the graph that the call instantiates; of a
		       launch: the one that it became in a capture */
	CAP_NODES,  /* struct cap_nodes_record: times of the nodes of a launch */
	CAP_LAYOUT, /* struct cap_layout_record: for what comes behind it in the ring */
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
#define CAP_CALL_ALWAYS 1  /* makes or ends an object: comes while paused, too */
#define CAP_CALL_RAW 2	   /* no description: words are the six argument registers */
#define CAP_CALL_UNENDED 4 /* did not return: the thread or process ended within it */
#define CAP_CALL_OUTSIDE 8 /* happened while paused */
#define CAP_CALL_REPEATED                                                                          \
	16 /* many calls that polled, of which this is one: times from the first to the last; one  \
	      word more, the last, says how many */

/* From here on a number stands for a name that a CAP_NAME of the same process announced. */
#define CAP_API_UNKNOWN (1u << 24)

struct cap_call_record {
	struct cap_record head;
	uint32_t api; /* index into formats/api, or CAP_API_UNKNOWN + n */
	int32_t result;
	uint64_t id;
	uint64_t start, end; /* in the ring's clock */
	uint64_t words[];    /* an argument each; pointers as they were; structs by value take
				several; a result wider than 32 bits is one more, the last */
};

enum cap_blob_what {
	CAP_BLOB_BEFORE, /* what argument `arg` pointed to when the call began */
	CAP_BLOB_AFTER,	 /* when it had returned: results */
	CAP_BLOB_PARAMS, /* kernel parameters: u32 n, n times u32 offset, u32 size; then, from the
			    next multiple of 8, the packed bytes. What capture/layouts.h makes of
			    a CAP_PARAMS: in a ring the layout is said once. */
	CAP_BLOB_EXTRA,	 /* kernel parameters as CU_LAUNCH_PARAM_BUFFER_POINTER gave them */
	CAP_BLOB_FIELD,	 /* what field number `field` of the struct that the argument points to
			    leads to, before the call */
};

struct cap_blob_record {
	struct cap_record head; /* flags: enum cap_blob_what */
	uint16_t arg;
	uint16_t field; /* CAP_BLOB_FIELD: of formats/api's description */
	uint32_t len;	/* of data */
	uint64_t id;
	uint64_t whole_len; /* more than len: only the beginning was kept */
	uint8_t data[];
};

/* How the parameters of a kernel lie, in the CAP_PARAMS that name this number: until it is given to
 * another layout. */
#define CAP_LAYOUTS 256
struct cap_layout_record {
	struct cap_record head; /* flags: the number */
	uint32_t spare, n;
	struct cap_param {
		uint32_t offset, size;
	} params[];
};

/* Kernel parameters, packed: as many bytes as the layout has, or more. */
struct cap_params_record {
	struct cap_record head; /* depth: the argument that led to them; flags: the layout */
	uint64_t id;
	uint8_t data[];
};

/* A code image that the call loads: content-addressed. */
#define CAP_IMAGE_STORED 1 /* it is the file blob-HASH, else it lies in `path` */
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
#define CAP_DIGEST_EMPTY 2 /* it could not be made, or was not wanted: nobody is to wait for it */

struct cap_digest_record {
	struct cap_record head;
	uint32_t index; /* among the operations of the call */
	uint32_t n_pages;
	uint64_t id; /* of the launching call; at the end of an iteration: of its mark */
	uint64_t allocation, offset_bytes, length_bytes;
	uint64_t digest[2];
	uint64_t pages[]; /* two words each */
};

/* Contents that --payloads asked for; they lie in blob-HASH. */
struct cap_payload_record {
	struct cap_record head;
	uint32_t index;
	uint32_t spare;
	uint64_t id;
	uint64_t allocation, offset_bytes, length_bytes;
	uint64_t hash[2];
};

/* So many digests and payloads of the call are to come. Before the call, from its thread. */
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

/* In the flags of a PUSH or START: all that lived was digested, if that was asked for. */
#define CAP_RANGE_STEP 0x80

/* Nodes come in the order of the graph, all of them or none. `place` is where in an order in which
 * each comes behind what it waits for. The operations of a launch are counted in that order; unless
 * each node waits for the one before it, and for nothing else, one more stands for the end of all.
 */
#define CAP_NODE_WHOLE UINT32_MAX
#define CAP_NODE_UNTIMED (UINT32_MAX - 1)
struct cap_node_record {
	struct cap_record head; /* flags: enum CUgraphNodeType */
	uint32_t node, n_nodes; /* which, of how many */
	uint32_t op; /* its times come under this index among those of each launch, with CAP_NODES;
			CAP_NODE_WHOLE: it has none, and where no node has, a launch is one
			operation; CAP_NODE_UNTIMED: nobody asked for times of nodes */
	uint32_t n_deps;
	uint64_t id;	 /* of the call */
	uint64_t handle; /* in the program's graph */
	uint32_t params_len, place;
	uint32_t deps[]; /* nodes that it waits for; then its parameters, as the driver's struct for
			    that kind has them */
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
	uint64_t id; /* ordinal that the thread's next call would get: where among the calls */
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

/* When a full ring made room again. */
struct cap_lost_record {
	struct cap_record head;
	uint64_t records, bytes; /* since the last such record */
	uint64_t since;		 /* in the ring's clock */
};
